package contract

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/petstore/internal/proof/property"
)

func (c *collection) takesKey() bool { return c.create.parameter("header", "Idempotency-Key") != nil }

// post returns a create request with an Idempotency-Key.
func (c *collection) post(under *stored, body resource, key string) request {
	return c.to(c.create, c.path(under)).withBody(body).with("Idempotency-Key: " + key)
}

// repeats tests that a request that is repeated with its key gets the same response, also
// with what the service chose, and that one with any other value is refused.
func (c *collection) repeats(t *rapid.T, m *stored, body resource, key string) {
	complete := resource{"x": 1}
	for name := range c.create.body.Properties {
		if m.value[name] != nil {
			complete[name] = m.value[name]
		}
	}
	first := c.succeed(t, c.post(m.under, body, key))
	again := c.succeed(t, c.post(m.under, complete, `"`+key+`"`))
	if !bytes.Equal(again.body, first.body) || again.Header.Get("Location") != first.Header.Get("Location") ||
		property.Encode(decode(again.body)) != property.Encode(m.value) {
		t.Errorf("repeated: got %s and %s, want %v", first.body, again.body, m.value)
	}
	for _, name := range slices.Sorted(maps.Keys(c.create.body.Properties)) {
		other := without(complete, name)
		other[name] = property.Value(c.create.body.Properties[name].Value).Draw(t, "other "+name)
		if property.Encode(other[name]) != property.Encode(m.value[name]) {
			w := want{status: 422, code: "idempotency_key_reused", message: "Idempotency-Key"}
			c.expect(t, c.post(m.under, other, key), w)
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
		long := run + strings.Repeat("k", 255-len(run))
		under, body, seen := c.newParent(t, 7), c.example(7), []string{}
		add := func(r request) (id string) { return property.Encode(decode(s.succeed(t, r).body)[c.id]) }
		for _, forms := range [][]string{
			{run + "a", `"` + run + `a"`},
			{`"` + run + ` c"`, run + " c"},
			{`"` + run + `\\d"`, run + `\d`},
			{`"` + long + `"`, long},
			{run + "A"},
			{`"` + run + `\\A"`},
			{`"` + run + `\"A"`},
			{run + "a1"},
		} {
			invalid := c.post(under, body, forms[0])
			invalid.body = "{"
			c.expect(t, invalid, want{status: 400, code: "invalid_body"})
			id := add(c.post(under, body, forms[0]))
			for _, form := range forms[1:] {
				if got := add(c.post(under, body, form)); got != id {
					t.Errorf("%s: got %s, want %s as for %s", form, got, id, forms[0])
				}
			}
			seen = append(seen, id)
		}
		plain := c.to(c.create, c.path(under)).withBody(body)
		seen = append(seen, add(plain), add(plain))
		if s.OtherKey != "" {
			other := s.request(c.create, c.path(under)).withBody(body)
			seen = append(seen, add(other.with(bearer(s.OtherKey), "Idempotency-Key: "+run+"a1")))
		}
		slices.Sort(seen)
		if n := len(slices.Compact(slices.Clone(seen))); n != len(seen) {
			t.Errorf("got %s, want another resource for each Idempotency-Key and API key", seen)
		}
	}
}
