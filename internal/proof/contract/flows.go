package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/property"
)

// resource is a resource as decoded from JSON, with numbers as written.
type resource = map[string]any

func decode(text string) resource {
	r, _ := property.Decode(text).(resource) // check reports another body
	return r
}

func idOf(r resource) int64 {
	id, _ := r["id"].(json.Number)
	n, _ := id.Int64()
	return n
}

// create adds the pet in body and returns it.
func (s *suite) create(t T, body string, header ...string) resource {
	return decode(string(s.expect(t, s.post(body, header...), want{status: http.StatusCreated}).body))
}

// list returns the pets of a page and the query of the link to the next page.
func (s *suite) list(t T, query string) (page []resource, next string) {
	got := s.expect(t, s.get("/pets"+query), want{status: http.StatusOK})
	all, _ := property.Decode(string(got.body)).([]any)
	for _, p := range all {
		page = append(page, p.(resource))
	}
	if m := regexp.MustCompile(`^<[^<>?]+(\?[^<>]*)>; rel="next"$`).FindStringSubmatch(got.Header.Get("Link")); m != nil {
		next = m[1]
	}
	return page, next
}

// validBody tests that a pet is returned as it was sent.
func (s *suite) validBody(t T) {
	c := s.collection("/pets")
	for _, body := range []string{
		example.Body(),
		example.Body(fmt.Sprintf(`"status":%q`, statuses()[1])),
		example.Body(`"name":""`),
		example.Body(`"name":"  v "`),
		example.Body(`"name":"e\u0301"`), // not normalized
		example.Body(`"name":"\u0001\r\n\u007f\u2028"`),
		example.Body(`"id":99`),
		example.Body(`"x":{"y":[null,true]}`, `"":0`),
		example.Body(`"categoryId":9007199254740993`), // past 2^53
		example.Body(`"categoryId":9223372036854775807`),
		example.Body(`"categoryId":-9223372036854775808`),
	} {
		t.Run(body, func(t T) {
			made := c.add(t, body)
			c.isRead(t, made, true)
			if want := statuses()[0]; !strings.Contains(body, `"status"`) && made["status"] != want {
				t.Errorf("without a status: got %v, want %s", made["status"], want)
			}
		})
	}
}

// paging tests walks over pages: each pet that existed before is returned once,
// and in ascending order. Package storetest walks while pets are added.
func (s *suite) paging(t T) {
	limit := example.Parameter("limit")
	most, byDefault := int(*limit.Max), int(limit.Default.(float64))
	marker := idOf(s.create(t, example.Body()))
	ids := map[string][]int64{}
	for i := range byDefault + 1 {
		status := statuses()[i%len(statuses())]
		id := idOf(s.create(t, example.Body(fmt.Sprintf(`"status":%q`, status))))
		ids["&status="+status], ids[""] = append(ids["&status="+status], id), append(ids[""], id)
	}
	for filter, created := range ids {
		for _, limit := range []int{1, 7, most} {
			query := fmt.Sprintf("?limit=%d%s&after=%d", limit, filter, marker)
			t.Run(query, func(t T) {
				var got []int64
				for _, p := range s.walk(t, query, limit) {
					if slices.Contains(ids[""], idOf(p)) {
						got = append(got, idOf(p))
					}
				}
				if !slices.Equal(got, created) {
					t.Errorf("walk: got %v, want %v", got, created)
				}
			})
		}
		link := map[string]string{"Link": fmt.Sprintf(`^<[^<>?]*%s/pets\?limit=1%s&after=%d>; rel="next"$`, s.base, filter, created[0])}
		s.expect(t, s.get(fmt.Sprintf("/pets?other=1&limit=1%s&after=%d&x=y", filter, marker)), want{status: http.StatusOK, header: link})
	}
	if page, _ := s.list(t, ""); len(page) != byDefault {
		t.Errorf("without a limit: got %d pets, want %d", len(page), byDefault)
	}
	status := fmt.Sprintf(`"status":%q`, statuses()[1])
	marker = idOf(s.create(t, example.Body()))
	sizes := []int{maxPageText - 1, 1, maxPageText - 1, 0, 1, maxPageText, 3, maxPageText - 2}
	for _, size := range sizes {
		name := strings.Repeat("é", size/2) + strings.Repeat("x", size%2)
		s.create(t, example.Body(status, fmt.Sprintf(`"name":%q`, name)))
	}
	for _, filter := range []string{"", "&status=" + statuses()[1]} {
		query := fmt.Sprintf("?limit=%d%s&after=%d", most, filter, marker)
		if all := s.walk(t, query, most); len(all) != len(sizes) {
			t.Errorf("%s: got %d pets with long names, want %d", query, len(all), len(sizes))
		}
	}
}

// maxPageText is the size of names in bytes of UTF-8 with which a page ends.
const maxPageText = 32 << 10

// walk follows the links to the next pages and returns all pets. It checks where each
// page ends: with as many pets as limit, or with the one that brings the names to
// maxPageText.
func (s *suite) walk(t T, query string, limit int) (all []resource) {
	for query != "" {
		page, next := s.list(t, query)
		full, text := false, 0
		for i, p := range page {
			if full {
				t.Errorf("%s: got a page of %d, want it to end with the %dth", query, len(page), i)
				return all
			}
			text += len(p["name"].(string))
			full = i+1 == limit || text >= maxPageText
		}
		if next != "" && !full {
			t.Errorf("%s: got a page of %d with the link %q, want %d if another follows", query, len(page), next, limit)
			return all
		}
		if len(page) > 0 && len(all) > 0 && idOf(page[0]) <= idOf(all[len(all)-1]) {
			t.Errorf("%s: got %v, want pets after those of the page before", query, page[0])
			return all
		}
		all, query = append(all, page...), next
	}
	return all
}

// retry tests requests that are repeated with the same Idempotency-Key.
func (s *suite) retry(t T) {
	run := fmt.Sprint(time.Now().UnixNano()) // so that another run does not reuse these keys
	long := run + strings.Repeat("k", 255-len(run))
	body := example.Body()
	withStatus := func(i int) string { return fmt.Sprintf(`{"x":1, "status":%q,`, statuses()[i]) + body[1:] }
	for name, keys := range map[string][2]string{
		"bare":           {run + "a", run + "a"},
		"quoted":         {`"` + run + `b"`, run + "b"},
		"spaces":         {`"` + run + ` c"`, run + " c"},
		"escapes":        {`"` + run + `\\d"`, run + `\d`},
		"255 characters": {`"` + long + `"`, long},
	} {
		t.Run(name, func(t T) {
			s.expect(t, s.post("{", "Idempotency-Key: "+keys[0]), want{status: 400, code: "invalid_body"}) // which uses no key
			first := s.expect(t, s.post(body, "Idempotency-Key: "+keys[0]), want{status: http.StatusCreated})
			again := s.expect(t, s.post(withStatus(0), "Idempotency-Key: "+keys[1]), want{status: http.StatusCreated})
			if !bytes.Equal(again.body, first.body) || again.Header.Get("Location") != first.Header.Get("Location") {
				t.Errorf("the second time: got %s, want %s", again.body, first.body)
			}
			other := s.post(withStatus(1), "Idempotency-Key: "+keys[0])
			s.expect(t, other, want{status: 422, code: "idempotency_key_reused", message: "Idempotency-Key"})
		})
	}
	t.Run("another key", func(t T) {
		var ids []int64
		for _, key := range []string{`"` + run + `A"`, `"` + run + `\\A"`, `"` + run + `\"A"`, run + "a1"} {
			ids = append(ids, idOf(s.create(t, body, "Idempotency-Key: "+key)))
		}
		ids = append(ids, idOf(s.create(t, body)), idOf(s.create(t, body)))
		if s.OtherKey != "" {
			other := *s
			other.Key = s.OtherKey
			ids = append(ids, idOf(other.create(t, body, "Idempotency-Key: "+run+"a1")))
		}
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
			t.Errorf("got the pets %d, want a new one for each Idempotency-Key and API key", ids)
		}
	})
}
