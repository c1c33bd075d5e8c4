package contract

import (
	"fmt"
	"net/http"
	"strings"

	"example.com/petstore/internal/proof/example"
)

// limit tests the bounds and the default of limit.
func (s *suite) limit(t runner) {
	limit := example.Parameter("limit")
	least, most, byDefault := int(*limit.Min), int(*limit.Max), int(limit.Default.(float64))
	for value, status := range map[int]int{least: 200, most: 200, least - 1: 400, most + 1: 400, -1: 400} {
		t.Run(fmt.Sprint(value), func(t reporter) {
			w := want{status: status}
			if status == 400 {
				w.code, w.message = "invalid_parameter", fmt.Sprintf("^limit must be .*between %d and %d$", least, most)
			}
			s.expect(t, s.get(fmt.Sprint("/pets?limit=", value)), w)
		})
	}
	t.Run("default", func(t reporter) {
		for range byDefault + 1 {
			s.create(t, example.Body())
		}
		if page, _ := s.list(t, ""); len(page) != byDefault {
			t.Errorf("without a limit: got %d pets, want %d", len(page), byDefault)
		}
	})
}

// statuses returns the values that a status may have.
func statuses() (all []string) {
	for _, status := range example.Parameter("status").Enum {
		all = append(all, status.(string))
	}
	return all
}

// query tests query strings. Error messages must name the parameter.
func (s *suite) query(t runner) {
	for query, message := range map[string]string{
		"limit=":          "^limit ",
		"limit=ten":       "^limit must be an integer",
		"limit=1&limit=1": "^limit ",
		"status=":         "^status ",
		"status=lost":     "^status must be one of " + strings.Join(statuses(), ", ") + "$",
		"after=-1":        "^after must be",
		"%zz":             "query",
		"limit=5;x=1":     "query|limit",
	} {
		t.Run(query, func(t reporter) {
			s.expect(t, s.get("/pets?"+query), want{status: 400, code: "invalid_parameter", message: message})
		})
	}
	for _, query := range []string{
		"", "&", "after=0", "after=9007199254740993", "status=%73old", "status=pending&limit=5&after=1",
		"limit=2&other=1", "other=1&other=2", "limit=2&=x", "LIMIT=", "limit[]=0", "limit%20=0", "%00=%ff", "Status=lost",
		strings.Repeat("x&", 3000) + "limit=2",
	} {
		t.Run(query, func(t reporter) { s.expect(t, s.get("/pets?"+query), want{status: 200}) })
	}
	t.Run("past the end", func(t reporter) {
		got := s.expect(t, s.get("/pets?after=9223372036854775807"), want{status: 200, header: map[string]string{"Link": ""}})
		if !same(got.body, []byte("[]")) {
			t.Errorf("body: got %s, want []", got.body)
		}
	})
}

func (s *suite) petID(t runner) {
	for _, c := range []struct {
		id     string
		status int
	}{
		{"0", 404},
		{"-1", 404},
		{"9223372036854775807", 404},
		{"9223372036854775808", 400},
		{"x", 400},
		{"1%2F2", 400},
	} {
		t.Run(c.id, func(t reporter) {
			w := want{status: 404, code: "not_found", message: "^there is no pet with id " + c.id + "$"}
			if c.status == 400 {
				w = want{status: 400, code: "invalid_parameter", message: "^petId must be an integer"}
			}
			s.expect(t, s.get("/pets/"+c.id), w)
		})
	}
	t.Run("percent-encoded", func(t reporter) {
		p, made := s.create(t, example.Body())
		encode := func(text string) string {
			return "%" + strings.ReplaceAll(fmt.Sprintf("% x", text), " ", "%")
		}
		id := encode(fmt.Sprint(p.ID))
		for _, target := range []string{"/pets/" + id, "/" + encode("pets") + "/" + id} {
			if got := s.expect(t, s.get(target), want{status: 200}); !same(got.body, made.body) {
				t.Errorf("%s: got %s, want %s", target, got.body, made.body)
			}
		}
	})
}

// head tests that HEAD is GET without the body.
func (s *suite) head(t runner) {
	for _, target := range []string{
		s.base + "/pets?after=9007199254740991", s.base + "/pets?limit=0", s.base + "/pets/0", s.base + "/pets/x", s.base + "/nothing",
		"/livez", "/readyz", "/openapi.yaml", "/openapi.json", "/docs", "/nothing",
	} {
		t.Run(target, func(t reporter) {
			r := request{method: http.MethodGet, target: target, header: []string{s.auth()}}
			get := s.send(t, r)
			r.method = http.MethodHead
			head := s.send(t, r)
			if head.StatusCode != get.StatusCode {
				t.Errorf("status: got %d, want %d as for GET", head.StatusCode, get.StatusCode)
			}
			for _, name := range []string{"Content-Type", "Link", "ETag", "Cache-Control"} {
				if got, want := head.Header.Get(name), get.Header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q as for GET", name, got, want)
				}
			}
		})
	}
	t.Run("no key", func(t reporter) {
		s.expect(t, request{method: http.MethodHead, target: s.base + "/pets"}, want{status: 401})
	})
}

// accept tests that clients get JSON even if they do not ask for it.
func (s *suite) accept(t runner) {
	for _, accept := range []string{"text/html", "application/json;q=0", "image/*", "nonsense", ""} {
		t.Run(accept, func(t reporter) {
			s.expect(t, s.get("/pets?limit=1", "Accept: "+accept), want{status: 200})
			s.expect(t, s.get("/pets/0", "Accept: "+accept), want{status: 404, code: "not_found"})
		})
	}
}

// requestID tests the identifiers that the service makes. Package edge tests those of
// clients, and the judge that every response has one.
func (s *suite) requestID(t runner) {
	t.Run("made", func(t reporter) {
		one, other := s.send(t, s.get("/pets?limit=1")), s.send(t, s.get("/pets?limit=1"))
		if id := one.Header.Get("X-Request-Id"); id == other.Header.Get("X-Request-Id") {
			t.Errorf("two requests: got the id %q twice, want two", id)
		}
	})
}
