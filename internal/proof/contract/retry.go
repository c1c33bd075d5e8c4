package contract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/proof/property"
)

// retry tests requests that are repeated with the same Idempotency-Key.
func (s *suite) retry(t T) {
	for _, c := range s.collections {
		if c.create.parameter("header", "Idempotency-Key") != nil {
			t.Run(c.create.OperationID, c.retry)
		}
	}
}

func (c *collection) retry(t T) {
	run := fmt.Sprint(time.Now().UnixNano()) // so that another run does not reuse these keys
	long := run + strings.Repeat("k", 255-len(run))
	under := c.newParent(t, 7)
	post := func(body resource, key string) request {
		return c.to(c.create, c.path(under)).withBody(body).with("Idempotency-Key: " + key)
	}
	body := c.example(7)
	for name, keys := range map[string][2]string{
		"bare":           {run + "a", run + "a"},
		"quoted":         {`"` + run + `b"`, run + "b"},
		"spaces":         {`"` + run + ` c"`, run + " c"},
		"escapes":        {`"` + run + `\\d"`, run + `\d`},
		"255 characters": {`"` + long + `"`, long},
	} {
		t.Run(name, func(t T) {
			invalid := post(body, keys[0])
			invalid.body = "{"
			c.expect(t, invalid, want{status: 400, code: "invalid_body"}) // which uses no key
			first := c.succeed(t, post(body, keys[0]))
			complete := resource{"x": 1} // with what the service chose
			for name, v := range decode(first.body) {
				if c.create.body.Properties[name] != nil {
					complete[name] = v
				}
			}
			again := c.succeed(t, post(complete, keys[1]))
			if !bytes.Equal(again.body, first.body) || again.Header.Get("Location") != first.Header.Get("Location") {
				t.Errorf("the second time: got %s, want %s", again.body, first.body)
			}
			for name, p := range c.create.body.Properties {
				complete[name] = another(p.Value, complete[name])
				break
			}
			c.expect(t, post(complete, keys[0]), want{status: 422, code: "idempotency_key_reused", message: "Idempotency-Key"})
		})
	}
	t.Run("another key", func(t T) {
		var ids []string
		add := func(s *suite, header ...string) {
			got := s.succeed(t, s.to(c.create, c.path(under)).withBody(body).with(header...))
			ids = append(ids, property.Encode(decode(got.body)[c.id]))
		}
		for _, key := range []string{`"` + run + `A"`, `"` + run + `\\A"`, `"` + run + `\"A"`, run + "a1"} {
			add(c.suite, "Idempotency-Key: "+key)
		}
		add(c.suite)
		add(c.suite)
		if c.OtherKey != "" {
			other := *c.suite
			other.Key = c.OtherKey
			add(&other, "Idempotency-Key: "+run+"a1")
		}
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
			t.Errorf("got %s, want another resource for each Idempotency-Key and API key", ids)
		}
	})
}
