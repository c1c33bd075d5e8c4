package contract

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/property"
)

// resource is a resource as decoded from JSON, with numbers as written.
type resource = map[string]any

func decode(text []byte) resource {
	r, _ := property.Decode(string(text)).(resource) // check reports another body
	return r
}

// stored is a resource that the tests have added.
type stored struct {
	*collection
	under *stored // its parent, or nil
	value resource
	gone  bool // whether it was removed
}

// path returns the address of a collection below the base.
func (c *collection) path(under *stored) string {
	if c.parent == nil {
		return c.list.template
	}
	return under.path() + strings.TrimPrefix(c.list.template, c.parent.item)
}

// path returns the address of a resource below the base.
func (m *stored) path() string {
	list := m.collection.path(m.under)
	if !strings.HasPrefix(m.item, m.list.template) { // /loans/{loanId}
		list = m.item[:strings.LastIndex(m.item, "/")]
	}
	return list + "/" + url.PathEscape(fmt.Sprint(m.value[m.id]))
}

// withBody returns r with another body.
func (r request) withBody(v any) request {
	r.body = property.Encode(v)
	return r
}

// to returns a request of an operation with the key.
func (s *suite) to(o operation, path string) request { return s.request(o, path).with(bearer(s.Key)) }

// example returns a body for the create operation with all properties.
func (c *collection) example(seed int) resource {
	body := resource{}
	for name, p := range c.create.body.Properties {
		body[name] = property.Another(p.Value, nil, seed)
	}
	return body
}

// newParent adds a resource that may have such a list, or returns nil.
func (c *collection) newParent(t T, seed int) *stored {
	if c.parent == nil {
		return nil
	}
	return c.parent.add(t, c.parent.newParent(t, seed), c.parent.example(seed))
}

// add adds a resource and checks the answer.
func (c *collection) add(t T, under *stored, body resource, header ...string) *stored {
	got := c.succeed(t, c.to(c.create, c.path(under)).withBody(body).with(header...))
	m := &stored{collection: c, under: under, value: decode(got.body)}
	c.equal(t, "added", m.value, body, c.create)
	if r := c.create.Responses.Status(got.StatusCode); r != nil && r.Value.Headers["Location"] != nil {
		if location := got.Header.Get("Location"); !strings.HasSuffix(location, c.base+m.path()) {
			t.Errorf("%s: Location: got %q, want it to end in %s", c.create.OperationID, location, m.path())
		}
	}
	c.added = append(c.added, m)
	return m
}

// succeed sends a request and reports an answer that is no success.
func (s *suite) succeed(t T, r request) response {
	got := s.send(t, r)
	if got.StatusCode/100 != 2 {
		t.Errorf("%v: got %d %.200s, want a success", r, got.StatusCode, got.body)
	}
	return got
}

// equal checks that a resource has the values that a client gave, of the properties that
// one of the operations takes.
func (c *collection) equal(t T, what string, got, given resource, by ...operation) {
	for name, want := range decode([]byte(property.Encode(given))) {
		takes := func(o operation) bool { return o.body != nil && o.body.Properties[name] != nil }
		isShown := c.schema.Value.Properties[name] != nil
		if isShown && slices.ContainsFunc(by, takes) && !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s: %s, %s: got %v, want %v", c.list.template, what, name, got[name], want)
		}
	}
}

// isRead checks that a resource is read as it is, by get, in every list of such resources,
// and with filters; or if it is gone, that no operation finds it.
func (m *stored) isRead(t T) {
	check := func(by string, got resource, matches bool) {
		if want := matches && !m.gone; (got != nil) != want {
			t.Errorf("%s, read by %s: got %v, want it: %t", m.list.template, by, got, want)
		} else if got != nil {
			m.equal(t, "read by "+by, got, m.value, m.create, m.items[http.MethodPut], m.items[http.MethodPatch])
		}
	}
	for method, o := range m.items {
		if m.gone {
			m.expect(t, m.to(o, m.path()), want{status: http.StatusNotFound, code: "not_found"})
		} else if method == http.MethodGet {
			check("get", decode(m.succeed(t, m.to(o, m.path())).body), true)
		}
	}
	check("list", m.find(t, ""), true)
	for _, filter := range m.list.parameters {
		p := m.schema.Value.Properties[filter.Name]
		if filter.In != openapi3.ParameterInQuery || p == nil {
			continue
		}
		own := property.Texts(m.value[filter.Name])
		for _, text := range slices.Concat(own, property.Texts(filter.Schema.Value.Enum)) {
			if property.Accepts(filter.Schema.Value, text) {
				query := "&" + filter.Name + "=" + url.QueryEscape(text)
				check("list with "+query, m.find(t, query), slices.Contains(own, text))
			}
		}
	}
}

// find returns the resource in its lists, or nil. Below a parent that is gone there is no list.
func (m *stored) find(t T, query string) (found resource) {
	for _, c := range m.collections {
		if c.schema.Ref != m.schema.Ref || c.parent != nil && m.under == nil {
			continue
		}
		if c.parent != nil && m.under.gone {
			c.expect(t, c.to(c.list, c.path(m.under)), want{status: http.StatusNotFound})
			continue
		}
		all := c.all(t, m.under, query)
		is := func(r resource) bool { return fmt.Sprint(r[m.id]) == fmt.Sprint(m.value[m.id]) }
		if i := slices.IndexFunc(all, is); i >= 0 {
			found = all[i]
		} else if found != nil {
			t.Errorf("%s: got no %v, which another list has", c.path(m.under), m.value[m.id])
		}
	}
	return found
}

// everything returns the lists with what the tests have added, by their addresses.
func (s *suite) everything(t T) map[string][]resource {
	lists := map[string][]resource{}
	for _, m := range s.added {
		path := m.collection.path(m.under)
		if _, isKnown := lists[path]; !isKnown && (m.under == nil || !m.under.gone) {
			lists[path] = m.all(t, m.under, "")
		}
	}
	return lists
}

// owned returns other values for the properties of a resource that an operation does not take.
func (c *collection) owned(o operation, value resource) resource {
	all := resource{}
	for name, p := range c.schema.Value.Properties {
		if o.body.Properties[name] == nil {
			all[name] = property.Another(p.Value, value[name], 1)
		}
	}
	return all
}

// keeps checks that a request did not set properties that the operation does not take.
func (c *collection) keeps(t T, o operation, got, sent resource) {
	for name, v := range sent {
		if o.body.Properties[name] == nil && property.Encode(got[name]) == property.Encode(v) {
			t.Errorf("%s: %s: got %v as the client gave it, want the service's own", o.OperationID, name, v)
		}
	}
}

// without returns a resource without a property.
func without(r resource, name string) resource {
	r = maps.Clone(r)
	delete(r, name)
	return r
}
