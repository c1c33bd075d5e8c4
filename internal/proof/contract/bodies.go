package contract

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.com/petstore/internal/proof/example"
)

// maxBody is the size that the document promises.
const maxBody = 64 << 10

func (s *suite) invalidBody(t runner) {
	before, _ := s.create(t, example.Body())
	for _, c := range []struct{ name, body, message string }{
		{"nothing", "", "body"},
		{"an empty object", "{}", "(name|categoryId) is required"},
		{"no name", example.Body(`"name"`), "^name is required$"},
		{"no categoryId", example.Body(`"name":"a"`, `"categoryId"`), "^categoryId is required$"},
		{"name in another case", example.Body(`"name"`, `"NAME":"a"`), "^name is required$"},
		{"U+0000 in name", example.Body(`"name":"a\u0000b"`), "^name must not contain U.0000"},
		{"categoryId 7.0", example.Body(`"name":"a"`, `"categoryId":7.0`), "^categoryId must be an integer"},
		{"categoryId 2^63", example.Body(`"name":"a"`, `"categoryId":9223372036854775808`), "^categoryId must be"},
		{"a null status", example.Body(`"name":"a"`, `"status":null`), "^status must be one of " + strings.Join(statuses(), ", ") + "$"},
		{"an unknown status", example.Body(`"name":"a"`, `"status":"lost"`), "^status must be one of"},
		{"name twice", example.Body(`"name":"a","name":"b"`), `"?name"?.* (twice|once|repeat|dup)`},
		{"invalid UTF-8", example.Body("\"name\":\"\xff\""), "UTF-8"},
		{"101 levels, all but one of them objects", strings.Repeat(`{"x":`, 100) + "[]" + strings.Repeat("}", 100), "100 levels"},
	} {
		t.Run(c.name, func(t reporter) {
			s.expect(t, s.post(c.body), want{status: 400, code: "invalid_body", message: c.message})
		})
	}
	t.Run("nothing was added", func(t reporter) {
		page, _ := s.list(t, fmt.Sprintf("?after=%d", before.ID))
		for _, p := range page {
			if p.Name == "a" {
				t.Errorf("pets: got %v, want none of an invalid body", p)
			}
		}
	})
}

func (s *suite) validBody(t runner) {
	for _, c := range []struct {
		name, body string
		want       pet
	}{
		{"required properties", example.Body(`"name":"v"`), pet{Name: "v", CategoryID: 1}},
		{"all properties", example.Body(`"name":"v"`, `"status":"sold"`), pet{Name: "v", CategoryID: 1, Status: "sold"}},
		{"an empty name", example.Body(`"name":""`), pet{CategoryID: 1}},
		{"spaces in name", example.Body(`"name":"  v "`), pet{Name: "  v ", CategoryID: 1}},
		{"a name that is not normalized", example.Body(`"name":"e\u0301"`), pet{Name: "e\u0301", CategoryID: 1}},
		{"control characters", example.Body(`"name":"\u0001\r\n\u007f\u2028"`), pet{Name: "\u0001\r\n\u007f\u2028", CategoryID: 1}},
		{"an id", example.Body(`"id":99`, `"name":"v"`), pet{Name: "v", CategoryID: 1}},
		{"unknown properties", example.Body(`"name":"v"`, `"x":{"y":[null,true]}`, `"":0`), pet{Name: "v", CategoryID: 1}},
		{"categoryId past 2^53", example.Body(`"name":"v"`, `"categoryId":9007199254740993`), pet{Name: "v", CategoryID: 9007199254740993}},
		{"the greatest categoryId", example.Body(`"name":"v"`, `"categoryId":9223372036854775807`), pet{Name: "v", CategoryID: 9223372036854775807}},
		{"the least categoryId", example.Body(`"name":"v"`, `"categoryId":-9223372036854775808`), pet{Name: "v", CategoryID: -9223372036854775808}},
	} {
		t.Run(c.name, func(t reporter) {
			if c.want.Status == "" {
				c.want.Status = "available"
			}
			got, made := s.create(t, c.body)
			c.want.ID = got.ID
			if got != c.want || got.ID < 1 || got.ID >= 1<<53 {
				t.Errorf("created: got %+v, want %+v with an id below 2^53", got, c.want)
			}
			fetched := s.expect(t, s.get(fmt.Sprintf("/pets/%d", got.ID)), want{status: 200})
			var again pet
			if err := json.Unmarshal(fetched.body, &again); err != nil || again != c.want {
				t.Errorf("fetched: got %s, want %s", fetched.body, made.body)
			}
		})
	}
}

func (s *suite) mediaType(t runner) {
	for _, c := range []struct {
		name   string
		header []string
		want   map[string]string // of the 415; nil if the body is accepted
	}{
		{"upper case", []string{"Content-Type: Application/JSON; charset=utf-8"}, nil},
		{"identity", []string{jsonType, "Content-Encoding: identity"}, nil},
		{"none", nil, acceptJSON},
		{"unreadable", []string{"Content-Type: application/json;;"}, acceptJSON},
		{"the same twice", []string{jsonType, jsonType}, acceptJSON},
		{"another kind of JSON", []string{"Content-Type: application/vnd.api+json"}, acceptJSON},
		{"twice", []string{jsonType, "Content-Type: text/plain"}, acceptJSON},
		{"gzip", []string{jsonType, "Content-Encoding: gzip"}, acceptIdentity},
	} {
		t.Run(c.name, func(t reporter) {
			r := request{method: "POST", target: s.base + "/pets", header: append(c.header, s.auth()), body: example.Body()}
			if c.want == nil {
				s.expect(t, r, want{status: 201})
				return
			}
			s.expect(t, r, want{status: 415, code: "unsupported_media_type", message: "Content-Type|body", header: c.want})
		})
	}
	t.Run("too large, with an invalid header", func(t reporter) {
		r := s.post(strings.Repeat(" ", maxBody+1), `Idempotency-Key: "`)
		s.expect(t, r, want{status: 400, code: "invalid_request"})
	})
}

var (
	acceptJSON     = map[string]string{"Accept": "^application/json$"}
	acceptIdentity = map[string]string{"Accept-Encoding": "^identity$"}
)
