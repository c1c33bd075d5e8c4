package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/property"
)

// resource is a resource as decoded from JSON.
type resource = map[string]any

// writes tests of each operation that writes that what it wrote is read back, and of
// each that removes a resource that it is gone, by get, by list and by every filter of
// the list. An operation of another form needs a case here.
func (s *suite) writes(t runner) {
	for _, o := range s.operations() {
		if o.method == http.MethodGet {
			continue
		}
		collection, isItem := o.collection()
		paths := s.judge.document.Paths
		if item := paths.Value(collection); item == nil || item.Get == nil || item.Post == nil {
			t.Errorf("%s: got no flow, want one in writes", o.OperationID)
			continue
		}
		c := s.collection(collection)
		t.Run(o.OperationID, func(t reporter) {
			switch {
			case o.method == http.MethodPost && !isItem:
				c.isRead(t, c.add(t, 1))
			case (o.method == http.MethodPut || o.method == http.MethodPatch) && isItem:
				c.isRead(t, c.change(t, o))
			case o.method == http.MethodDelete && isItem:
				c.remove(t, o)
			default:
				t.Errorf("%s: got no flow, want one in writes", o.OperationID)
			}
		})
	}
}

// collection is a path with a list and a create operation.
type collection struct {
	*suite
	list, create operation
	item         operation // its get; the method is "" if the document has none
}

func (s *suite) collection(template string) collection {
	c := collection{suite: s}
	for _, o := range s.operations() {
		in, isItem := o.collection()
		switch {
		case in != template:
		case isItem && o.method == http.MethodGet:
			c.item = o
		case !isItem && o.method == http.MethodGet:
			c.list = o
		case !isItem && o.method == http.MethodPost:
			c.create = o
		}
	}
	return c
}

// add creates a resource with random values and returns it as it was answered.
func (c collection) add(t reporter, seed int) resource {
	body := property.Object(c.create.body).Example(seed)
	r := c.request(c.create, "").with(c.auth())
	r.body = encode(body)
	got := c.expect(t, r, want{status: c.create.success()})
	made := decode(got.body)
	has(t, c.create.OperationID+", the answer", made, c.create.body, body)
	location, suffix := got.Header.Get("Location"), fmt.Sprintf("%s%s/%v", c.base, c.create.template, made["id"])
	if !strings.HasSuffix(location, suffix) {
		t.Errorf("Location: got %q, want it to end in %s", location, suffix)
	}
	return made
}

// change gives every property of a resource another value and returns the resource as
// it now is.
func (c collection) change(t reporter, o operation) resource {
	var sent resource
	made, got := c.accepted(t, o, func(r *request, made resource) {
		sent = resource{}
		for name, p := range o.body.Properties {
			for seed := range 100 {
				v := property.Value(p.Value).Example(seed)
				if v != nil && !reflect.DeepEqual(normal(v), made[name]) {
					sent[name] = v
					break
				}
			}
		}
		r.body = encode(sent)
	})
	if len(got.body) > 0 {
		answer := decode(got.body)
		has(t, o.OperationID+", the answer", answer, o.body, sent)
		return answer
	}
	for name, v := range sent {
		if !o.body.Properties[name].Value.WriteOnly {
			made[name] = normal(v)
		}
	}
	return made
}

// remove removes a resource, but no other.
func (c collection) remove(t reporter, o operation) {
	other := c.add(t, 100)
	removed, _ := c.accepted(t, o, func(*request, resource) {})
	c.isGone(t, removed)
	c.isRead(t, other)
	c.send(t, c.request(o, fmt.Sprint(removed["id"])).with(c.auth())) // the judge knows what the second time may get
}

// accepted sends a request for one new resource after another until the answer is no
// conflict.
func (c collection) accepted(t reporter, o operation, prepare func(*request, resource)) (made resource, got response) {
	for seed := range 20 {
		made = c.add(t, seed)
		r := c.request(o, fmt.Sprint(made["id"])).with(c.auth())
		prepare(&r, made)
		if got = c.send(t, r); got.StatusCode != http.StatusConflict {
			break
		}
	}
	if got.StatusCode != o.success() {
		t.Errorf("%s: got status %d %.200s, want %d", o.OperationID, got.StatusCode, got.body, o.success())
	}
	return made, got
}

// isRead checks that a resource is read as it is by get, list and filters.
func (c collection) isRead(t reporter, want resource) {
	c.read(t, want, func(by string, got resource, matches bool) {
		if (got != nil) != matches {
			t.Errorf("read by %s: got %v, want it: %t", by, got, matches)
		}
		for name := range want {
			if got != nil && !reflect.DeepEqual(got[name], want[name]) {
				t.Errorf("read by %s, %s: got %v, want %v", by, name, got[name], want[name])
			}
		}
	})
}

// isGone checks that a resource is read no more.
func (c collection) isGone(t reporter, removed resource) {
	c.read(t, removed, func(by string, got resource, _ bool) {
		if got != nil {
			t.Errorf("read by %s: got %v, want it removed", by, got)
		}
	})
}

// read passes to check what each way of reading returns of a resource, nil if nothing,
// and whether that way selects it.
func (c collection) read(t reporter, of resource, check func(by string, got resource, matches bool)) {
	id := fmt.Sprint(of["id"])
	if c.item.method != "" {
		got := c.send(t, c.request(c.item, id).with(c.auth()))
		var found resource
		if got.StatusCode == http.StatusOK {
			found = decode(got.body)
		} else if got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 200 or 404", c.item.OperationID, got.StatusCode)
		}
		check("get", found, true)
	}
	check("list", c.find(t, id, ""), true)
	schema := c.list.Responses.Status(http.StatusOK).Value.Content["application/json"].Schema.Value.Items.Value
	for _, p := range c.list.Parameters {
		filter := p.Value
		if filter.In != openapi3.ParameterInQuery || schema.Properties[filter.Name] == nil {
			continue
		}
		values := filter.Schema.Value.Enum
		if len(values) == 0 {
			values = []any{of[filter.Name]}
		}
		for _, v := range values {
			query := "&" + filter.Name + "=" + url.QueryEscape(fmt.Sprint(v))
			check("list with "+query[1:], c.find(t, id, query), fmt.Sprint(v) == fmt.Sprint(of[filter.Name]))
		}
	}
}

// find returns the resource in the list, or nil.
func (c collection) find(t reporter, id, query string) resource {
	before, _ := json.Number(id).Int64()
	r := c.request(c.list, "").with(c.auth())
	r.target += fmt.Sprintf("?limit=1&after=%d", before-1) + query
	var page []resource
	unmarshal(c.expect(t, r, want{status: http.StatusOK}).body, &page)
	i := slices.IndexFunc(page, func(got resource) bool { return fmt.Sprint(got["id"]) == id })
	if i < 0 {
		return nil
	}
	return page[i]
}

// has checks that an answer has the values that were sent.
func has(t reporter, what string, got resource, schema *openapi3.Schema, sent resource) {
	for name, v := range sent {
		if !schema.Properties[name].Value.WriteOnly && !reflect.DeepEqual(got[name], normal(v)) {
			t.Errorf("%s, %s: got %v, want %v", what, name, got[name], v)
		}
	}
}

// decode returns an object, with numbers as written.
func decode(text []byte) (o resource) {
	unmarshal(text, &o)
	return o
}

func unmarshal(text []byte, v any) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	_ = d.Decode(v) // the judge reports invalid JSON
}

// normal returns v after a round trip through JSON.
func normal(v any) (again any) {
	unmarshal([]byte(encode(v)), &again)
	return again
}
