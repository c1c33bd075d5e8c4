package contract

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/proof/example"
)

// paging tests walks over pages: each pet that existed before is returned once,
// and in ascending order. Package storetest walks while pets are added.
func (s *suite) paging(t runner) {
	marker, _ := s.create(t, example.Body())
	byStatus := map[string][]pet{}
	for i := range 15 {
		status := statuses()[i%3]
		p, _ := s.create(t, example.Body(fmt.Sprintf(`"categoryId":%d`, i), fmt.Sprintf(`"status":%q`, status)))
		byStatus[status], byStatus[""] = append(byStatus[status], p), append(byStatus[""], p)
	}
	most := int(*example.Parameter("limit").Max)
	for _, c := range []struct {
		status string
		limit  int
	}{{"", 1}, {"", 2}, {"", 7}, {"", most}, {"sold", 2}, {"pending", 1}, {"available", most}} {
		t.Run(fmt.Sprintf("status=%s,limit=%d", c.status, c.limit), func(t reporter) {
			filter := ""
			if c.status != "" {
				filter = "&status=" + c.status
			}
			var walked []pet
			last := marker.ID
			query := fmt.Sprintf("?limit=%d%s&after=%d", c.limit, filter, last)
			for query != "" {
				page, next := s.list(t, query)
				if n := len(page); n > c.limit || next != "" && n < c.limit || n == 0 && len(walked) > 0 {
					t.Errorf("%s: got a page of %d with the link %q, want %d if another follows", query, n, next, c.limit)
				}
				if len(page) > 0 && page[0].ID <= last || len(page) == 0 && next != "" {
					t.Errorf("%s: got %v, want pets after %d", query, page, last)
					break
				}
				walked = append(walked, page...)
				if next != "" {
					last = page[len(page)-1].ID
					if want := fmt.Sprintf("?limit=%d%s&after=%d", c.limit, filter, last); next != want {
						t.Errorf("Link: got %s, want %s", next, want)
						break
					}
				}
				query = next
			}
			if !slices.IsSortedFunc(walked, func(a, b pet) int { return int(a.ID - b.ID) }) {
				t.Errorf("walk: got %v, want ascending ids", walked)
			}
			for _, p := range byStatus[c.status] {
				if n := count(walked, p); n != 1 {
					t.Errorf("walk: got pet %d %d times, want once", p.ID, n)
				}
			}
			for _, p := range walked {
				if c.status != "" && p.Status != c.status {
					t.Errorf("walk: got %v, want only %s pets", p, c.status)
				}
			}
		})
	}
	t.Run("unknown parameters", func(t reporter) {
		_, next := s.list(t, fmt.Sprintf("?other=1&limit=1&after=%d&x=y", marker.ID))
		if want := fmt.Sprintf("?limit=1&after=%d", byStatus[""][0].ID); next != want {
			t.Errorf("Link: got %s, want %s", next, want)
		}
	})
}

func count(all []pet, p pet) (n int) {
	for _, other := range all {
		if other == p {
			n++
		}
	}
	return n
}

// idempotencyKey tests the form of the header.
func (s *suite) idempotencyKey(t runner) {
	for name, header := range map[string][]string{
		"empty":          {""},
		"twice":          {"k1", "k1"},
		"a list":         {`k1, k2`},
		"a quoted list":  {`"k1", "k2"`},
		"a parameter":    {`"k1";a=b`},
		"a wrong escape": {`"a\b"`},
		"a tab":          {"a\tb"},
		"not ASCII":      {"é"},
		"an open quote":  {`"k1`},
		"256 characters": {strings.Repeat("k", 256)},
	} {
		t.Run(name, func(t reporter) {
			r := s.post(example.Body())
			for _, value := range header {
				r = r.with("Idempotency-Key: " + value)
			}
			s.expect(t, r, want{status: 400, code: "invalid_request", message: "^Idempotency-Key "})
		})
	}
}

// retry tests requests that are repeated with the same Idempotency-Key.
func (s *suite) retry(t runner) {
	run := fmt.Sprint(time.Now().UnixNano()) // so that another run does not reuse these keys
	long := run + strings.Repeat("k", 255-len(run))
	for name, keys := range map[string][2]string{
		"bare":           {run + "a", run + "a"},
		"quoted":         {`"` + run + `b"`, run + "b"},
		"spaces":         {`"` + run + ` c"`, run + " c"},
		"escapes":        {`"` + run + `\\d"`, run + `\d`},
		"255 characters": {`"` + long + `"`, long},
	} {
		t.Run(name, func(t reporter) {
			body := example.Body()
			first, made := s.create(t, body, "Idempotency-Key: "+keys[0])
			again, repeated := s.create(t, `{"x":1, "status":"available",`+body[1:], "Idempotency-Key: "+keys[1])
			if again != first || !same(made.body, repeated.body) || made.Header.Get("Location") != repeated.Header.Get("Location") {
				t.Errorf("the second time: got %s, want %s", repeated.body, made.body)
			}
			other := s.post(`{"status":"sold",`+body[1:], "Idempotency-Key: "+keys[0])
			s.expect(t, other, want{status: 422, code: "idempotency_key_reused", message: "Idempotency-Key"})
		})
	}
	t.Run("another key", func(t reporter) {
		seen := map[int64]string{}
		for _, key := range []string{"", "", `"` + run + `A"`, `"` + run + `\\A"`, `"` + run + `\"A"`, run + "a1"} {
			var header []string
			if key != "" {
				header = []string{"Idempotency-Key: " + key}
			}
			p, _ := s.create(t, example.Body(), header...)
			if other, ok := seen[p.ID]; ok {
				t.Errorf("key %q: got pet %d of key %q, want a new one", key, p.ID, other)
			}
			seen[p.ID] = key
		}
	})
	t.Run("an invalid body first", func(t reporter) {
		key := "Idempotency-Key: " + run + "invalid"
		s.expect(t, s.post("{", key), want{status: 400, code: "invalid_body"})
		s.create(t, example.Body(), key)
	})
	if s.OtherKey == "" {
		return
	}
	t.Run("another API key", func(t reporter) {
		mine, _ := s.create(t, example.Body(), "Idempotency-Key: "+run+"scope")
		other := *s
		other.Key = s.OtherKey
		if p, _ := other.create(t, example.Body(), "Idempotency-Key: "+run+"scope"); p.ID == mine.ID {
			t.Errorf("got pet %d for two API keys, want two pets", p.ID)
		}
	})
}
