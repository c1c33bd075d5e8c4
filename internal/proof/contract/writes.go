package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// writes tests of each operation that writes that what it wrote is read, and of each that
// removes a resource that it is gone. coverage reports an operation of another form.
func (s *suite) writes(t *testing.T) {
	for _, c := range s.collections {
		if c.create.method == "" {
			continue
		}
		t.Run(c.create.OperationID, c.creates)
		for method, o := range c.items {
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
					c.expect(t, c.to(o, other.path()), want{status: http.StatusNotFound})
					m.isRead(t)
				}
			})
		}
	}
}

// creates tests a create operation: resources with all kinds of values are read as they
// were sent, and what is not valid adds none.
func (c *collection) creates(t *testing.T) {
	under := c.newParent(t, 1)
	c.examples(t, under)
	run := time.Now().UnixNano() // so that another run does not use these keys again
	bodies, _ := values(c.create.body)
	for i, text := range bodies {
		body, key := resourceOf(text), fmt.Sprintf("%d-%d", run, i)
		m := c.add(t, under, body, "Idempotency-Key: "+key)
		m.isRead(t)
		if c.takesKey() {
			c.repeats(t, m, body, key)
		}
		sent := c.owned(c.create, m.value)
		maps.Copy(sent, body)
		c.keeps(t, c.create, resourceOf(c.expect(t, c.post(under, sent), want{}).body), sent)
		if t.Failed() {
			return
		}
	}
	before, required := c.all(t, under), least(c.create.body, 2)
	for name, v := range required {
		body := without(required, name)
		body[strings.ToUpper(name)] = v
		w := want{status: 400, code: "invalid_body", message: "^" + name + " is required$"}
		c.expect(t, c.post(under, body), w)
	}
	c.refuses(t, c.create, c.path(under), required)
	if after := c.all(t, under); !reflect.DeepEqual(after, before) {
		t.Errorf("after invalid bodies: got %v, want %v", after, before)
	}
}

// examples sends the examples of the document. Each gets the response of that name.
func (c *collection) examples(t *testing.T, under *stored) {
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

// refuses sends bodies that are not valid: for each property values that either the
// operation or the create operation does not take.
func (c *collection) refuses(t *testing.T, o operation, path string, valid resource) {
	whole := encode(valid)
	open := strings.TrimSuffix(whole, "}") + `,"x":`
	for _, body := range []string{
		"", "{", "[]", whole + "{}", "\ufeff" + whole, open + `1,"x":1}`, open + "\"\xff\"}", open + `"\ud800"}`,
		open + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}",
	} {
		r := c.to(o, path)
		r.body = body
		c.expect(t, r, want{status: 400, code: "invalid_body"})
	}
	for name, p := range o.body.Properties {
		_, invalid := values(p.Value)
		if in := c.create.body.Properties[name]; in != nil && o.method != http.MethodPost {
			_, more := values(in.Value)
			invalid = append(invalid, more...)
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
	under, body, all := c.newParent(t, 2), c.example(0), resource{}
	other := c.add(t, under, c.example(5))
	for name, p := range o.body.Properties {
		all[name] = another(p.Value, body[name], 1)
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
	c.expect(t, c.to(o, m.path()).withBody(sent), want{})
	c.keeps(t, o, m.find(c.all(t, under)), sent)
	other.isRead(t)
}

// changed changes a resource and checks that the result is read.
func (c *collection) changed(t *testing.T, o operation, m *stored, sent resource) {
	got := c.expect(t, c.to(o, m.path()).withBody(sent), want{})
	for name, v := range resourceOf(encode(sent)) {
		if v != nil {
			m.value[name] = v
		}
	}
	if answer := o.answer(); answer != nil && answer.Ref == c.schema.Ref {
		c.equal(t, "the answer of "+o.OperationID, resourceOf(got.body), m.value)
	}
	m.isRead(t)
}

// removes tests that a resource is removed, with what is in its lists or not at all, but
// nothing else.
func (c *collection) removes(t *testing.T, o operation) {
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
		got := c.send(t, c.to(o, removed.path()))
		gone := got.StatusCode/100 == 2
		if !gone && (got.StatusCode != http.StatusConflict || child == nil) {
			got.errorf(t, "got %.200s, want a success", got.body)
		}
		for _, m := range all {
			m.gone = gone
		}
		for _, m := range append(all, others...) {
			m.isRead(t)
		}
	}
}

func (c *collection) takesKey() bool { return c.create.parameter("header", "Idempotency-Key") != nil }

// repeats tests that a request that is repeated with its key gets the same response, also
// with what the service chose, and that one with any other value is refused.
func (c *collection) repeats(t *testing.T, m *stored, body resource, key string) {
	complete := resource{"x": 1}
	for name := range c.create.body.Properties {
		if m.value[name] != nil {
			complete[name] = m.value[name]
		}
	}
	for form, again := range map[string]resource{key: body, `"` + key + `"`: complete} {
		if got := c.add(t, m.under, again, "Idempotency-Key: "+form); !reflect.DeepEqual(got.value, m.value) {
			t.Errorf("repeated: got %v, want %v", got.value, m.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.create.body.Properties)) {
		other := without(complete, name)
		other[name] = another(c.create.body.Properties[name].Value, m.value[name], 1)
		if encode(other[name]) != encode(m.value[name]) {
			c.expect(t, c.post(m.under, other, "Idempotency-Key: "+key), want{status: 422, message: "Idempotency-Key"})
		}
	}
}

// retry tests which keys are the same: in another form, but not for another API key. An
// invalid request uses none.
func (s *suite) retry(t *testing.T) {
	for _, c := range s.collections {
		if !c.takesKey() {
			continue
		}
		run := fmt.Sprint(time.Now().UnixNano())
		path, seen := c.path(c.newParent(t, 7)), map[string]string{}
		add := func(r request, what string) (id string) {
			id = c.idOf(resourceOf(s.expect(t, r, want{}).body))
			if first, found := seen[id]; found {
				t.Errorf("%s: got %s as for %s, want another", what, id, first)
			}
			return id
		}
		r := c.to(c.create, path)
		for _, key := range []string{"a", "a1", "A", " c", `\d`, `\A`, `"A`, strings.Repeat("k", 255-len(run))} {
			key = run + key
			quoted := r.with("Idempotency-Key: " + strconv.Quote(key))
			invalid := quoted
			invalid.body = "{"
			c.expect(t, invalid, want{status: 400, code: "invalid_body"})
			id := add(quoted, key)
			if bare := r.with("Idempotency-Key: " + key); !strings.Contains(key, `"`) && add(bare, key) != id {
				t.Errorf("%s: got another resource without quotes", key)
			}
			seen[id] = key
		}
		seen[add(r, "no key")] = "no key"
		add(r, "no key again")
		if s.OtherKey != "" {
			other := s.request(c.create, path).with(bearer(s.OtherKey), "Idempotency-Key: "+run+"a1")
			add(other, "another API key")
		}
	}
}
