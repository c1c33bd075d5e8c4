package contract

import (
	"fmt"
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

// with returns r with another body.
func (r request) withBody(v any) request {
	r.body = property.Encode(v)
	return r
}

// to returns a request of an operation with the key.
func (s *suite) to(o operation, path string) request { return s.request(o, path).with(bearer(s.Key)) }

// example returns a body for the create operation.
func (c *collection) example(seed int) resource { return property.Object(c.create.body).Example(seed) }

// complete returns a body for the create operation with all properties.
func (c *collection) complete(seed int) resource {
	body := c.example(seed)
	for name, p := range c.create.body.Properties {
		if body[name] == nil {
			body[name] = another(p.Value, nil)
		}
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
	m := &stored{c, under, decode(got.body)}
	c.equal(t, "added", m.value, body)
	if c.documents(got, "Location") {
		if location := got.Header.Get("Location"); !strings.HasSuffix(location, c.base+m.path()) {
			t.Errorf("%s: Location: got %q, want it to end in %s", c.create.OperationID, location, m.path())
		}
	}
	return m
}

// documents reports whether the document has a header of the response to a create request.
func (c *collection) documents(got response, header string) bool {
	r := c.create.Responses.Status(got.StatusCode)
	return r != nil && r.Value.Headers[header] != nil
}

// succeed sends a request and reports an answer that is no success.
func (s *suite) succeed(t T, r request) response {
	got := s.send(t, r)
	if got.StatusCode/100 != 2 {
		t.Errorf("%v: got %d %.200s, want a success", r, got.StatusCode, got.body)
	}
	return got
}

// equal checks that a resource has the values that a client gave.
func (c *collection) equal(t T, what string, got, given resource) {
	for name, want := range decode([]byte(property.Encode(given))) {
		isGiven := false
		for _, o := range []operation{c.create, c.items[http.MethodPut], c.items[http.MethodPatch]} {
			isGiven = isGiven || o.body != nil && o.body.Properties[name] != nil
		}
		if isShown := c.schema.Value.Properties[name] != nil; isGiven && isShown && !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s: %s, %s: got %v, want %v", c.list.template, what, name, got[name], want)
		}
	}
}

// isRead checks that a resource is read as it is, or no more, by get, in every list of such
// resources, and with filters.
func (m *stored) isRead(t T, exists bool) {
	check := func(by string, got resource, matches bool) {
		if (got != nil) != (matches && exists) {
			t.Errorf("%s, read by %s: got %v, want it: %t", m.list.template, by, got, matches && exists)
		}
		if got != nil {
			m.equal(t, "read by "+by, got, m.value)
		}
	}
	if get := m.items[http.MethodGet]; get.method != "" {
		var found resource
		if got := m.send(t, m.to(get, m.path())); got.StatusCode == http.StatusOK {
			found = decode(got.body)
		}
		check("get", found, true)
	}
	check("list", m.find(t, ""), true)
	for _, filter := range m.list.parameters {
		p := m.schema.Value.Properties[filter.Name]
		if filter.In != openapi3.ParameterInQuery || p == nil {
			continue
		}
		own := texts(m.value[filter.Name])
		for _, text := range slices.Concat(own, texts(filter.Schema.Value.Enum)) {
			if accepts(filter, text) {
				query := filter.Name + "=" + url.QueryEscape(text)
				check("list with "+query, m.find(t, query), slices.Contains(own, text))
			}
		}
	}
}

// texts returns a value as a parameter has it, or each of a list.
func texts(v any) (all []string) {
	list, isList := v.([]any)
	if !isList && v != nil {
		return []string{property.Text(v)}
	}
	for _, v := range list {
		all = append(all, property.Text(v))
	}
	return all
}

// find returns the resource in its lists, or nil. Where its parent is gone there is none.
func (m *stored) find(t T, query string) (found resource) {
	for _, c := range m.collections {
		if c.schema.Ref != m.schema.Ref || c.parent != nil && m.under == nil {
			continue
		}
		target := m.base + c.path(m.under)
		if c.parent != nil && m.send(t, m.to(c.list, c.path(m.under))).StatusCode == http.StatusNotFound {
			continue
		}
		all := c.walk(t, target+"?"+query)
		is := func(r resource) bool { return fmt.Sprint(r[m.id]) == fmt.Sprint(m.value[m.id]) }
		if i := slices.IndexFunc(all, is); i >= 0 {
			found = all[i]
		} else if found != nil {
			t.Errorf("%s: got no %v, which another list has", target, m.value[m.id])
		}
	}
	return found
}
