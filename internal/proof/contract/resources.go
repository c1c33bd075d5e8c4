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

// writes tests of each operation that writes that what it wrote is read, and of each that
// removes a resource that it is gone. An operation of another form needs a case here.
func (s *suite) writes(t T) {
	known := []string{}
	for _, c := range s.collections {
		if c.create.method != "" {
			known = append(known, c.create.OperationID)
			t.Run(c.create.OperationID, c.creates)
			for method, o := range c.items {
				known = append(known, o.OperationID)
				if strings.HasPrefix(c.item, c.list.template) && c.parent != nil {
					t.Run(o.OperationID+" elsewhere", func(t T) { c.elsewhere(t, o) })
				}
				switch method {
				case http.MethodPut, http.MethodPatch:
					t.Run(o.OperationID, func(t T) { c.changes(t, o) })
				case http.MethodDelete:
					t.Run(o.OperationID, func(t T) { c.removes(t, o) })
				}
			}
		}
	}
	for _, o := range s.operations {
		if o.method != http.MethodGet && !slices.Contains(known, o.OperationID) {
			t.Errorf("%s: got no flow, want one in writes", o.OperationID)
		}
	}
}

// elsewhere tests that a resource is found only below its own parent.
func (c *collection) elsewhere(t T, o operation) {
	m := c.add(t, c.newParent(t, 8), c.example(8))
	other := &stored{c, c.newParent(t, 9), m.value}
	c.expect(t, c.to(o, other.path()), want{status: http.StatusNotFound, code: "not_found"})
	m.isRead(t, true)
}

// creates tests a create operation.
func (c *collection) creates(t T) {
	under := c.newParent(t, 1)
	c.examples(t, under)
	c.add(t, under, c.example(1)).isRead(t, true)
	m := c.add(t, under, c.complete(2))
	m.isRead(t, true)
	body := c.owned(c.create, m)
	maps.Copy(body, c.example(2))
	c.keeps(t, c.create, c.add(t, under, body).value, body)
	before := c.walk(t, c.base+c.path(under))
	required := resource{}
	for _, name := range c.create.body.Required {
		required[name] = m.value[name]
	}
	for _, name := range c.create.body.Required {
		body := maps.Clone(required)
		delete(body, name)
		body[strings.ToUpper(name)] = m.value[name]
		c.expect(t, c.to(c.create, c.path(under)).withBody(body), want{status: 400, code: "invalid_body", message: "^" + name + " is required$"})
	}
	c.refuses(t, c.create, c.path(under), required)
	if after := c.walk(t, c.base+c.path(under)); len(after) != len(before) {
		t.Errorf("after invalid bodies: got %d resources, want %d as before", len(after), len(before))
	}
}

// examples sends the examples of the document. Each gets the response of that name.
func (c *collection) examples(t T, under *stored) {
	for status, r := range c.create.Responses.Map() {
		for name, example := range c.create.RequestBody.Value.Content[c.create.media].Examples {
			if want := r.Value.Content["application/json"].Examples[name]; status[0] == '2' && want != nil {
				sent, _ := example.Value.Value.(resource)
				answer, _ := want.Value.Value.(resource)
				c.equal(t, "the example "+name, c.add(t, under, sent).value, answer)
			}
		}
	}
}

// owned returns other values for the properties of a resource that an operation does not take.
func (c *collection) owned(o operation, m *stored) resource {
	all := resource{}
	for name, p := range c.schema.Value.Properties {
		if o.body.Properties[name] == nil {
			all[name] = another(p.Value, m.value[name])
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

// another returns a valid value of a property other than v.
func another(s *openapi3.Schema, v any) any {
	differs := func(other any) bool { return other != nil && property.Encode(other) != property.Encode(v) }
	return property.Value(s).Filter(differs).Example(1)
}

// refuses sends bodies that are not valid: no JSON, and for each property values that
// either the operation or the create operation does not take.
func (c *collection) refuses(t T, o operation, path string, valid resource) {
	text := property.Encode(valid)
	for _, b := range []struct{ name, body, message string }{
		{"nothing", "", "body"},
		{"an array", "[" + text + "]", "^the body must be an object"},
		{"incomplete", "{", "incomplete"},
		{"a second value", text + " {}", "JSON"},
		{"a property twice", `{"x":1,"x":1}`, `"?x"?.* twice`},
		{"invalid UTF-8", "{\"x\":\"\xff\"}", "UTF-8"},
		{"a lone surrogate", `{"x":"\ud800"}`, "UTF-8"},
		{"a byte order mark", "\ufeff" + text, "UTF-8"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "UTF-8"},
		{"101 levels, all but one of them objects", strings.Repeat(`{"x":`, 100) + "[]" + strings.Repeat("}", 100), "100 levels"},
	} {
		r := c.to(o, path)
		r.body = b.body
		t.Run(b.name, func(t T) { c.expect(t, r, want{status: 400, code: "invalid_body", message: b.message}) })
	}
	for name, p := range o.body.Properties {
		invalid := property.Invalid(p.Value)
		if in := c.create.body.Properties[name]; in != nil {
			for _, v := range property.Invalid(in.Value) {
				if v != "null" && !slices.Contains(invalid, v) { // a patch may take null
					invalid = append(invalid, v)
				}
			}
		}
		for _, v := range invalid {
			body := maps.Clone(valid)
			body[name] = 0
			r := c.to(o, path)
			r.body = strings.Replace(property.Encode(body), fmt.Sprintf("%q:0", name), fmt.Sprintf("%q:%s", name, v), 1)
			t.Run(fmt.Sprintf("%s %.40s", name, v), func(t T) {
				c.expect(t, r, want{status: 400, code: "invalid_body", message: "^" + name + `\b`})
			})
		}
	}
}

// changes tests a PUT with all properties, or a PATCH with all and with each alone, and
// null where it takes that. A property that is not sent stays as it is.
func (c *collection) changes(t T, o operation) {
	names := slices.Sorted(maps.Keys(o.body.Properties))
	sets := [][]string{names}
	if o.method == http.MethodPatch {
		for _, name := range names {
			sets = append(sets, []string{name})
		}
	}
	under := c.newParent(t, 2)
	for _, set := range sets {
		c.untilAccepted(t, o, under, func(m *stored) (sent resource) {
			sent = resource{}
			for _, name := range set {
				sent[name] = another(o.body.Properties[name].Value, m.value[name])
			}
			return sent
		})
	}
	for _, name := range names {
		if o.method != http.MethodPatch || !o.body.Properties[name].Value.Nullable {
			continue
		}
		c.untilAccepted(t, o, under, func(*stored) resource { return resource{name: nil} })
	}
	m := c.add(t, under, c.example(3))
	base := resource{}
	if o.method == http.MethodPut {
		base = c.example(4)
	}
	c.refuses(t, o, m.path(), base)
	m.isRead(t, true)
	sent := c.owned(o, m)
	maps.Copy(sent, base)
	c.succeed(t, c.to(o, m.path()).withBody(sent))
	c.keeps(t, o, m.find(t, ""), sent)
}

// untilAccepted changes one new resource after another until the answer is no conflict,
// and checks that the result is read.
func (c *collection) untilAccepted(t T, o operation, under *stored, change func(*stored) resource) {
	for seed := range 20 {
		body := c.complete(seed)
		m := c.add(t, under, body)
		sent := change(m)
		r := c.to(o, m.path()).withBody(sent)
		got := c.send(t, r)
		if got.StatusCode == http.StatusConflict && seed < 19 {
			continue
		}
		if got.StatusCode/100 != 2 {
			t.Errorf("%v: got %d %.200s, want a success", r, got.StatusCode, got.body)
		}
		for name, v := range sent {
			if v == nil { // as if it had been left out
				delete(body, name)
				v = c.add(t, under, body).value[name]
			}
			m.value[name] = v
		}
		m.value = decode([]byte(property.Encode(m.value)))
		if answer := o.answer(); answer != nil && answer.Ref == c.schema.Ref {
			c.equal(t, "the answer of "+o.OperationID, decode(got.body), m.value)
		}
		m.isRead(t, true)
		return
	}
}

// removes tests that a resource is removed, with what is in its lists or not at all, but
// nothing else.
func (c *collection) removes(t T, o operation) {
	under := c.newParent(t, 3)
	var below []*collection
	for _, child := range c.collections {
		if child.parent != nil && child.parent.list.template == c.list.template && child.create.method != "" {
			below = append(below, child)
		}
	}
	for _, child := range append(below, nil) {
		removed, others := c.add(t, under, c.example(4)), []*stored{c.add(t, under, c.example(5))}
		all := []*stored{removed}
		if child != nil {
			all = append(all, child.add(t, removed, child.example(1)))
			others = append(others, child.add(t, others[0], child.example(2)))
		}
		r := c.to(o, removed.path())
		got := c.send(t, r)
		if got.StatusCode/100 != 2 && (got.StatusCode != http.StatusConflict || child == nil) {
			t.Errorf("%v: got %d %.200s, want a success", r, got.StatusCode, got.body)
		}
		for _, m := range all {
			m.isRead(t, got.StatusCode/100 != 2)
		}
		for _, m := range others {
			m.isRead(t, true)
		}
		if got.StatusCode/100 == 2 {
			c.expect(t, r, want{status: http.StatusNotFound, code: "not_found"})
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
				check("list with "+filter.Name+"="+text, m.find(t, filter.Name+"="+url.QueryEscape(text)), slices.Contains(own, text))
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
		if i := slices.IndexFunc(all, func(r resource) bool { return fmt.Sprint(r[m.id]) == fmt.Sprint(m.value[m.id]) }); i >= 0 {
			found = all[i]
		} else if found != nil {
			t.Errorf("%s: got no %v, which another list has", target, m.value[m.id])
		}
	}
	return found
}
