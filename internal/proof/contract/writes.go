package contract

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/property"
)

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
		w := want{status: 400, code: "invalid_body", message: "^" + name + " is required$"}
		c.expect(t, c.to(c.create, c.path(under)).withBody(body), w)
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
	under, body, all := c.newParent(t, 2), c.complete(1), resource{}
	for name, p := range o.body.Properties {
		all[name] = another(p.Value, body[name])
	}
	c.changed(t, o, c.add(t, under, body), all)
	for name, p := range o.body.Properties {
		if o.method == http.MethodPatch {
			c.changed(t, o, c.add(t, under, body), resource{name: all[name]})
		}
		if o.method == http.MethodPatch && p.Value.Nullable {
			without := maps.Clone(body)
			delete(without, name)
			m := c.add(t, under, body)
			m.value[name] = c.add(t, under, without).value[name]
			c.changed(t, o, m, resource{name: nil})
		}
	}
	m, base := c.add(t, under, c.example(3)), resource{}
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

// changed changes a resource and checks that the result is read.
func (c *collection) changed(t T, o operation, m *stored, sent resource) {
	got := c.succeed(t, c.to(o, m.path()).withBody(sent))
	for name, v := range decode([]byte(property.Encode(sent))) {
		if v != nil {
			m.value[name] = v
		}
	}
	if answer := o.answer(); answer != nil && answer.Ref == c.schema.Ref {
		c.equal(t, "the answer of "+o.OperationID, decode(got.body), m.value)
	}
	m.isRead(t, true)
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
		removed, others := c.add(t, under, c.complete(4)), []*stored{c.add(t, under, c.complete(5))}
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
