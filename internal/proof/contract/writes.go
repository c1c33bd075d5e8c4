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

// writes tests of each operation that writes that what it wrote is read back, and of
// each that removes a resource that it is gone, by get, by list and by every filter of
// the list. An operation of another form needs a case here.
func (s *suite) writes(t T) {
	for _, o := range s.operations() {
		template, isItem := o.collection()
		c := s.collection(template)
		t.Run(o.OperationID, func(t T) {
			complete := c.list.method != "" && c.create.method != ""
			switch {
			case o.method == http.MethodGet:
			case complete && o.method == http.MethodPost && !isItem:
				c.isRead(t, c.addAny(t, 1), true)
			case complete && isItem && (o.method == http.MethodPut || o.method == http.MethodPatch):
				c.isRead(t, c.change(t, o), true)
			case complete && isItem && o.method == http.MethodDelete:
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
	find := func(method string, item bool) operation {
		for _, o := range s.operations() {
			if in, isItem := o.collection(); in == template && isItem == item && o.method == method {
				return o
			}
		}
		return operation{}
	}
	return collection{s, find(http.MethodGet, false), find(http.MethodPost, false), find(http.MethodGet, true)}
}

// add creates a resource and returns it as it was answered.
func (c collection) add(t T, body string, header ...string) resource {
	r := c.request(c.create, "").with(append(header, bearer(c.Key))...)
	r.body = body
	got := c.send(t, r)
	made := decode(string(got.body))
	sent := decode(body)
	maps.DeleteFunc(sent, func(name string, _ any) bool { return c.create.body.Properties[name] == nil })
	equal(t, "created", made, sent)
	location, suffix := got.Header.Get("Location"), fmt.Sprintf("%s%s/%v", c.base, c.create.template, made["id"])
	if !strings.HasSuffix(location, suffix) {
		t.Errorf("Location: got %q, want it to end in %s", location, suffix)
	}
	return made
}

// addAny creates a resource with random values.
func (c collection) addAny(t T, seed int) resource {
	return c.add(t, property.Encode(property.Object(c.create.body).Example(seed)))
}

// equal checks that a resource has the values of another.
func equal(t T, what string, got, want resource) {
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s, %s: got %v, want %v", what, name, got[name], want[name])
		}
	}
}

// change gives every property of a resource another value, and returns what it sent
// with the identifier. A conflict is tried with another resource.
func (c collection) change(t T, o operation) (sent resource) {
	c.untilAccepted(t, o, func(made resource) request {
		sent = resource{}
		for name, p := range o.body.Properties {
			isOther := func(v any) bool { return v != nil && fmt.Sprint(v) != fmt.Sprint(made[name]) }
			sent[name] = property.Value(p.Value).Filter(isOther).Example(1)
		}
		r := c.request(o, fmt.Sprint(made["id"]))
		r.body = property.Encode(sent)
		sent = decode(r.body)
		sent["id"] = made["id"]
		return r
	})
	return sent
}

// remove removes a resource, but no other.
func (c collection) remove(t T, o operation) {
	other := c.addAny(t, 100)
	var removed resource
	again := c.untilAccepted(t, o, func(made resource) request {
		removed = made
		return c.request(o, fmt.Sprint(made["id"]))
	})
	c.isRead(t, removed, false)
	c.isRead(t, other, true)
	c.send(t, again) // check knows what the second time may get
}

// untilAccepted sends a request for one new resource after another until the answer is
// no conflict.
func (c collection) untilAccepted(t T, o operation, prepare func(resource) request) (r request) {
	var got response
	for seed := range 20 {
		r = prepare(c.addAny(t, seed)).with(bearer(c.Key))
		if got = c.send(t, r); got.StatusCode != http.StatusConflict {
			break
		}
	}
	if got.StatusCode/100 != 2 {
		t.Errorf("%s: got status %d %.200s, want a success", o.OperationID, got.StatusCode, got.body)
	}
	return r
}

// isRead checks that a resource is read as it is, or no more, by get, list and filters.
func (c collection) isRead(t T, want resource, exists bool) {
	check := func(by string, got resource, matches bool) {
		if (got != nil) != (matches && exists) {
			t.Errorf("read by %s: got %v, want it: %t", by, got, matches && exists)
		}
		if got != nil {
			equal(t, "read by "+by, got, want)
		}
	}
	if c.item.method != "" {
		var found resource
		if got := c.send(t, c.request(c.item, fmt.Sprint(want["id"])).with(bearer(c.Key))); got.StatusCode == http.StatusOK {
			found = decode(string(got.body))
		}
		check("get", found, true)
	}
	check("list", c.find(t, want, ""), true)
	schema := c.list.Responses.Status(http.StatusOK).Value.Content["application/json"].Schema.Value.Items.Value
	for _, p := range c.list.Parameters {
		filter := p.Value
		if filter.In != openapi3.ParameterInQuery || schema.Properties[filter.Name] == nil {
			continue
		}
		values := filter.Schema.Value.Enum
		if len(values) == 0 {
			values = []any{want[filter.Name]}
		}
		for _, v := range values {
			query := "&" + filter.Name + "=" + url.QueryEscape(fmt.Sprint(v))
			check("list with "+query[1:], c.find(t, want, query), fmt.Sprint(v) == fmt.Sprint(want[filter.Name]))
		}
	}
}

// find returns the resource in the list, or nil.
func (c collection) find(t T, r resource, query string) resource {
	list := c.request(c.list, "").with(bearer(c.Key))
	list.target += fmt.Sprintf("?limit=1&after=%d", idOf(r)-1) + query
	page, _ := property.Decode(string(c.expect(t, list, want{status: http.StatusOK}).body)).([]any)
	i := slices.IndexFunc(page, func(got any) bool { return fmt.Sprint(got.(resource)["id"]) == fmt.Sprint(r["id"]) })
	if i < 0 {
		return nil
	}
	return page[i].(resource)
}
