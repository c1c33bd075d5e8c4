package contract

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pets tests that a pet is the same wherever it is returned.
func (s *suite) pets(t runner) {
	for _, status := range []string{"", "available", "pending", "sold"} {
		t.Run(status, func(t reporter) {
			body := newBody(`"categoryId":-7`)
			if status != "" {
				body = newBody(`"categoryId":-7`, fmt.Sprintf(`"status":%q`, status))
			}
			p, made := s.create(t, body)
			if location := made.Header.Get("Location"); !strings.HasSuffix(location, fmt.Sprintf("%s/pets/%d", s.base, p.ID)) {
				t.Errorf("Location: got %q, want it to end in %s/pets/%d", location, s.base, p.ID)
			}
			got := s.expect(t, s.get(fmt.Sprintf("/pets/%d", p.ID)), want{status: 200})
			if !same(got.body, made.body) {
				t.Errorf("fetched: got %s, want %s", got.body, made.body)
			}
			if status == "" {
				status = "available"
			}
			for _, other := range []string{"available", "pending", "sold"} {
				page, _ := s.list(t, fmt.Sprintf("?limit=1&status=%s&after=%d", other, p.ID-1))
				if got, want := slices.Contains(page, p), other == status; got != want {
					t.Errorf("listed as %s: got %t, want %t", other, got, want)
				}
			}
		})
	}
}

// paging tests walks over pages: each pet that existed before is returned once,
// and in ascending order. Package storetest walks while pets are added.
func (s *suite) paging(t runner) {
	marker, _ := s.create(t, newBody())
	byStatus := map[string][]pet{}
	for i := range 15 {
		status := []string{"available", "pending", "sold"}[i%3]
		p, _ := s.create(t, newBody(fmt.Sprintf(`"categoryId":%d`, i), fmt.Sprintf(`"status":%q`, status)))
		byStatus[status], byStatus[""] = append(byStatus[status], p), append(byStatus[""], p)
	}
	for _, c := range []struct {
		status string
		limit  int
	}{{"", 1}, {"", 2}, {"", 7}, {"", 100}, {"sold", 2}, {"pending", 1}, {"available", 100}} {
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
		"an open quote":  {`"k1`},
		"a parameter":    {`"k1";a=b`},
		"a wrong escape": {`"a\b"`},
		"a tab":          {"a\tb"},
		"not ASCII":      {"é"},
		"256 characters": {strings.Repeat("k", 256)},
	} {
		t.Run(name, func(t reporter) {
			r := s.post(newBody())
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
			body := newBody()
			first, made := s.create(t, body, "Idempotency-Key: "+keys[0])
			again, repeated := s.create(t, `{"x":1, "status":"available",`+body[1:], "Idempotency-Key: "+keys[1])
			if again != first || !same(made.body, repeated.body) || made.Header.Get("Location") != repeated.Header.Get("Location") {
				t.Errorf("the second time: got %s, want %s", repeated.body, made.body)
			}
			for _, other := range []string{
				strings.Replace(body, `"name":"`, `"name":"x`, 1),
				strings.Replace(body, `"categoryId":`, `"categoryId":2`, 1),
				`{"status":"sold",` + body[1:],
			} {
				s.expect(t, s.post(other, "Idempotency-Key: "+keys[0]), want{status: 422, code: "idempotency_key_reused", message: "Idempotency-Key"})
			}
		})
	}
	t.Run("another key", func(t reporter) {
		seen := map[int64]string{}
		for _, key := range []string{"", "", `"` + run + `A"`, `"` + run + `\\A"`, `"` + run + `\"A"`, run + "a1"} {
			var header []string
			if key != "" {
				header = []string{"Idempotency-Key: " + key}
			}
			p, _ := s.create(t, newBody(), header...)
			if other, ok := seen[p.ID]; ok {
				t.Errorf("key %q: got pet %d of key %q, want a new one", key, p.ID, other)
			}
			seen[p.ID] = key
		}
	})
	t.Run("an invalid body first", func(t reporter) {
		key := "Idempotency-Key: " + run + "invalid"
		s.expect(t, s.post("{", key), want{status: 400, code: "invalid_body"})
		s.create(t, newBody(), key)
	})
	if s.OtherKey == "" {
		return
	}
	t.Run("another API key", func(t reporter) {
		mine, _ := s.create(t, newBody(), "Idempotency-Key: "+run+"scope")
		other := *s
		other.Key = s.OtherKey
		if p, _ := other.create(t, newBody(), "Idempotency-Key: "+run+"scope"); p.ID == mine.ID {
			t.Errorf("got pet %d for two API keys, want two pets", p.ID)
		}
	})
}

// coverage tests that the cases have seen every response that a client can cause.
// TestSocket causes the 408, because a proxy would wait for the body.
func (s *suite) coverage(t reporter) {
	for _, item := range s.judge.document.Paths.Map() {
		for _, o := range item.Operations() {
			for status := range o.Responses.Map() {
				caused := status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "")
				if visit := o.OperationID + " " + status; caused && !s.judge.seen[visit] {
					t.Errorf("%s: got no such response, want a case of this package to cause one", visit)
				}
			}
		}
	}
}
