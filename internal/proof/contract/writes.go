package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/petstore/internal/proof/property"
)

// writes tests of each operation that writes that what it wrote is read, and of each that
// removes a resource that it is gone. An operation of another form needs a case here.
func (s *suite) writes(t *testing.T) {
	known := []string{}
	for _, c := range s.collections {
		if c.create.method == "" {
			continue
		}
		known = append(known, c.create.OperationID)
		t.Run(c.create.OperationID, c.creates)
		for method, o := range c.items {
			known = append(known, o.OperationID)
			t.Run(o.OperationID, func(t *testing.T) {
				switch method {
				case http.MethodPut, http.MethodPatch:
					c.changes(t, o)
				case http.MethodDelete:
					c.removes(t, o)
				}
				if strings.HasPrefix(c.item, c.list.template) && c.parent != nil { // found only below its own parent
					m := c.add(t, c.newParent(t, 8), c.example(8))
					other := &stored{collection: c, under: c.newParent(t, 9), value: m.value}
					c.expect(t, c.to(o, other.path()), want{status: http.StatusNotFound, code: "not_found"})
					m.isRead(t)
				}
			})
		}
	}
	for _, o := range s.operations {
		if o.method != http.MethodGet && !slices.Contains(known, o.OperationID) {
			t.Errorf("%s: got no flow, want one in writes", o.OperationID)
		}
	}
}

// creates tests a create operation: random resources are read as they were sent, and what
// is not valid adds none.
func (c *collection) creates(t *testing.T) {
	under := c.newParent(t, 1)
	c.examples(t, under)
	count, run := 0, time.Now().UnixNano() // so that another run does not use these keys again
	rapid.Check(t, func(rt *rapid.T) {
		body := property.Object(c.create.body).Draw(rt, "body")
		count++
		key := fmt.Sprintf("%d-%d", run, count)
		m := c.add(rt, under, body, "Idempotency-Key: "+key)
		m.isRead(rt)
		if c.takesKey() {
			c.repeats(rt, m, body, key)
		}
		sent := c.owned(c.create, m.value)
		maps.Copy(sent, body)
		c.keeps(rt, c.create, c.add(rt, under, sent).value, sent)
	})
	before, required := c.ids(c.all(t, under, "")), c.example(2)
	maps.DeleteFunc(required, func(name string, _ any) bool { return !slices.Contains(c.create.body.Required, name) })
	for name, v := range required {
		body := without(required, name)
		body[strings.ToUpper(name)] = v
		w := want{status: 400, code: "invalid_body", message: "^" + name + " is required$"}
		c.expect(t, c.to(c.create, c.path(under)).withBody(body), w)
	}
	c.refuses(t, c.create, c.path(under), required)
	wantSame(t, "after invalid bodies", c.ids(c.all(t, under, "")), before)
}

// examples sends the examples of the document. Each gets the response of that name.
func (c *collection) examples(t T, under *stored) {
	for status, r := range c.create.Responses.Map() {
		for name, example := range c.create.RequestBody.Value.Content[c.create.media].Examples {
			if want := r.Value.Content["application/json"].Examples[name]; status[0] == '2' && want != nil {
				sent, _ := example.Value.Value.(resource)
				answer, _ := want.Value.Value.(resource)
				c.equal(t, "the example "+name, c.add(t, under, sent).value, answer, c.create)
			}
		}
	}
}

// refuses sends bodies that are not valid: for each property values that either the
// operation or the create operation does not take.
func (c *collection) refuses(t *testing.T, o operation, path string, valid resource) {
	for _, body := range []string{"", "{", "[]", "{\"x\":\"\xff\"}", `{"x":"\ud800"}`, "\ufeff{}"} {
		r := c.to(o, path)
		r.body = body
		c.expect(t, r, want{status: 400, code: "invalid_body"})
	}
	for name, p := range o.body.Properties {
		invalid := property.Invalid(p.Value)
		if in := c.create.body.Properties[name]; in != nil && o.method != http.MethodPost {
			invalid = append(invalid, property.Invalid(in.Value)...)
		}
		slices.Sort(invalid)
		for _, v := range slices.Compact(invalid) {
			if v == "null" && p.Value.Nullable { // a patch may take it
				continue
			}
			body := without(valid, name)
			body[name] = json.RawMessage(v)
			t.Run(fmt.Sprintf("%s %.40s", name, v), func(t *testing.T) {
				w := want{status: 400, code: "invalid_body", message: "^" + name + `\b`}
				c.expect(t, c.to(o, path).withBody(body), w)
			})
		}
	}
}

// changes tests a PUT with all properties, or a PATCH with all and with each alone, and
// null where it takes that. A property that is not sent stays as it is.
func (c *collection) changes(t *testing.T, o operation) {
	under, body, all := c.newParent(t, 2), c.example(1), resource{}
	other := c.add(t, under, c.example(5))
	for name, p := range o.body.Properties {
		all[name] = property.Another(p.Value, body[name], 1)
	}
	c.changed(t, o, c.add(t, under, body), all)
	for name, p := range o.body.Properties {
		if o.method != http.MethodPatch {
			continue
		}
		c.changed(t, o, c.add(t, under, body), resource{name: all[name]})
		if p.Value.Nullable {
			m := c.add(t, under, body)
			m.value[name] = c.add(t, under, without(body, name)).value[name]
			c.changed(t, o, m, resource{name: nil})
		}
	}
	m, base := c.add(t, under, c.example(3)), resource{}
	if o.method == http.MethodPut {
		base = c.example(4)
	}
	c.refuses(t, o, m.path(), base)
	m.isRead(t)
	sent := c.owned(o, m.value)
	maps.Copy(sent, base)
	c.succeed(t, c.to(o, m.path()).withBody(sent))
	c.keeps(t, o, m.find(t, ""), sent)
	other.isRead(t)
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
		c.equal(t, "the answer of "+o.OperationID, decode(got.body), m.value, c.create, o)
	}
	m.isRead(t)
}

// removes tests that a resource is removed, with what is in its lists or not at all, but
// nothing else.
func (c *collection) removes(t T, o operation) {
	under := c.newParent(t, 3)
	below := []*collection{nil}
	for _, child := range c.collections {
		if child.parent == c && child.create.method != "" {
			below = append(below, child)
		}
	}
	for _, child := range below {
		removed, others := c.add(t, under, c.example(4)), []*stored{c.add(t, under, c.example(5))}
		all := []*stored{removed}
		if child != nil {
			all = append(all, child.add(t, removed, child.example(1)))
			others = append(others, child.add(t, others[0], child.example(2)))
		}
		r := c.to(o, removed.path())
		got := c.send(t, r)
		gone := got.StatusCode/100 == 2
		if !gone && (got.StatusCode != http.StatusConflict || child == nil) {
			t.Errorf("%v: got %d %.200s, want a success", r, got.StatusCode, got.body)
		}
		for _, m := range all {
			m.gone = gone
		}
		for _, m := range append(all, others...) {
			m.isRead(t)
		}
	}
}
