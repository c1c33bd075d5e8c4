package contract

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// resource is a resource as decoded from JSON, with numbers as written.
type resource = map[string]any

// resourceOf decodes a resource; check reports another body.
func resourceOf(text string) resource {
	r, _ := decode(text).(resource)
	return r
}

// collection is a path with a list, and what can be done with its resources.
type collection struct {
	*suite
	list   operation
	adds   *collection          // itself, or another that has an operation to add such resources; may be nil
	create operation            // without a method if the document has none
	item   string               // the template of one resource; empty if there is none
	items  map[string]operation // of item, by method
	parent *collection          // each of whose resources has such a list; nil if there is one list
	schema *openapi3.SchemaRef  // of a resource
	id     string               // the property that identifies a resource

	maxLimit, defaultLimit int // of the parameter limit, or 0
}

// newCollections returns the collections of the document, parents first.
func (s *suite) newCollections() (all []*collection) {
	for _, o := range s.operations {
		schema := o.answer()
		if o.method != http.MethodGet || schema == nil || !schema.Value.Type.Is("array") {
			continue
		}
		c := &collection{suite: s, list: o, items: map[string]operation{}, schema: schema.Value.Items, id: "id"}
		if limit := o.parameter("query", "limit"); limit != nil && limit.Max != nil {
			preset, _ := limit.Default.(float64)
			c.maxLimit, c.defaultLimit = int(*limit.Max), int(preset)
		}
		if i := strings.LastIndex(o.template, "}"); i >= 0 {
			j := slices.IndexFunc(all, func(p *collection) bool { return p.item == o.template[:i+1] })
			if j < 0 {
				continue // coverage reports its operations
			}
			c.parent = all[j]
		}
		short := o.template[strings.LastIndex(o.template, "/"):] // /books/{bookId}/loans and /loans/{loanId}
		for _, o := range s.operations {
			i := strings.LastIndex(o.template, "/{")
			switch {
			case o.template == c.list.template && o.method == http.MethodPost:
				c.create = o
			case i >= 0 && (o.template[:i] == c.list.template || o.template[:i] == short) && strings.HasSuffix(o.template, "}"):
				c.item, c.items[o.method] = o.template, o
				if name := o.template[i+2 : len(o.template)-1]; c.schema.Value.Properties[name] != nil {
					c.id = name
				}
			}
		}
		all = append(all, c)
	}
	for _, c := range all {
		for _, other := range all {
			if other.create.method != "" && other.schema.Ref == c.schema.Ref && (c.adds == nil || other == c) {
				c.adds = other
			}
		}
	}
	return all
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
	return list + "/" + url.PathEscape(m.idOf(m.value))
}

// idOf returns the identifier of a resource.
func (c *collection) idOf(r resource) string { return fmt.Sprint(r[c.id]) }

// example returns a body for the create operation with all properties.
func (c *collection) example(seed int) resource { return sample(c.create.body, seed) }

// newParent adds a resource that may have such a list, or returns nil.
func (c *collection) newParent(t *testing.T, seed int) *stored {
	if c.parent == nil {
		return nil
	}
	return c.parent.add(t, c.parent.newParent(t, seed), c.parent.example(seed))
}

// post returns a create request.
func (c *collection) post(under *stored, body resource, header ...string) request {
	return c.to(c.create, c.path(under)).withBody(body).with(header...)
}

// add adds a resource and checks the answer.
func (c *collection) add(t *testing.T, under *stored, body resource, header ...string) *stored {
	got := c.expect(t, c.post(under, body, header...), want{})
	m := &stored{collection: c, under: under, value: resourceOf(got.body)}
	c.equal(t, "added", m.value, body)
	if r := c.create.Responses.Status(got.StatusCode); r != nil && r.Value.Headers["Location"] != nil {
		if location := got.Header.Get("Location"); !strings.HasSuffix(location, c.base+m.path()) {
			got.errorf(t, "Location: got %q, want it to end in %s", location, m.path())
		}
	}
	c.added = append(c.added, m)
	return m
}

// equal checks that a resource has the values that a client gave, of the properties that
// an operation takes.
func (c *collection) equal(t *testing.T, what string, got, given resource) {
	for name, want := range resourceOf(encode(given)) {
		isTaken := c.create.takes(name) || c.items[http.MethodPut].takes(name) || c.items[http.MethodPatch].takes(name)
		if isTaken && c.schema.Value.Properties[name] != nil && !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s: %s, %s: got %v, want %v", c.list.template, what, name, got[name], want)
		}
	}
}

// isRead checks that a resource is read as it is, by get and in every list of such
// resources; or if it is gone, that no operation finds it.
func (m *stored) isRead(t *testing.T) {
	for method, o := range m.items {
		if m.gone {
			m.expect(t, m.to(o, m.path()), want{status: http.StatusNotFound})
		} else if method == http.MethodGet {
			m.equal(t, "read by get", resourceOf(m.expect(t, m.to(o, m.path()), want{}).body), m.value)
		}
	}
	for _, c := range m.collections {
		switch {
		case !c.has(m):
		case c.parent != nil && m.under.gone: // there is no list
			c.expect(t, c.to(c.list, c.path(m.under)), want{status: http.StatusNotFound})
		default:
			got := m.find(c.all(t, m.under))
			if (got != nil) == m.gone {
				t.Errorf("%s: got %v, want it to have %v: %t", c.path(m.under), got, m.value, !m.gone)
			} else if got != nil {
				m.equal(t, "listed", got, m.value)
			}
		}
	}
}

// has reports whether such resources are listed.
func (c *collection) has(m *stored) bool {
	return c.schema.Ref == m.schema.Ref && (c.parent == nil || m.under != nil)
}

// find returns the resource in a list, or nil.
func (m *stored) find(all []resource) resource {
	for _, r := range all {
		if m.idOf(r) == m.idOf(m.value) {
			return r
		}
	}
	return nil
}

// everything returns the lists of a collection that have what the tests have added, by
// their addresses.
func (c *collection) everything(t *testing.T) map[string][]resource {
	lists := map[string][]resource{}
	for _, m := range c.added {
		if c.has(m) && lists[c.path(m.under)] == nil && (c.parent == nil || !m.under.gone) {
			lists[c.path(m.under)] = c.all(t, m.under)
		}
	}
	return lists
}

// owned returns other values for the properties of a resource that an operation does not take.
func (c *collection) owned(o operation, value resource) resource {
	all := resource{}
	for name, p := range c.schema.Value.Properties {
		if other := another(p.Value, value[name], 1); !o.takes(name) && encode(other) != encode(value[name]) {
			all[name] = other
		}
	}
	return all
}

// keeps checks that a request did not set properties that the operation does not take.
func (c *collection) keeps(t *testing.T, o operation, got, sent resource) {
	for name, v := range sent {
		if !o.takes(name) && encode(got[name]) == encode(v) {
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
