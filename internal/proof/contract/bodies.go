package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// newBody returns a valid body. Each change is a property such as `"name":null`,
// which replaces the property of that name or is added, or only a name in quotes,
// which is left out.
func newBody(changes ...string) string {
	properties := []string{`"name":"Frank"`, `"categoryId":1`}
	for _, change := range changes {
		name, _, hasValue := strings.Cut(change, ":")
		properties = slices.DeleteFunc(properties, func(p string) bool { return strings.HasPrefix(p, name+":") })
		if hasValue {
			properties = append(properties, change)
		}
	}
	return "{" + strings.Join(properties, ",") + "}"
}

// padded returns a pet whose body has exactly size bytes.
func padded(size int) string {
	return newBody(`"name":"` + strings.Repeat("x", size-len(newBody(`"name":""`))) + `"`)
}

func (s *suite) invalidBody(t runner) {
	before, _ := s.create(t, newBody())
	for _, c := range []struct{ name, body, message string }{
		{"nothing", "", "body"},
		{"an array", "[" + newBody() + "]", "body must be an object"},
		{"an empty object", "{}", "(name|categoryId) is required"},
		{"no name", newBody(`"name"`), "^name is required$"},
		{"no categoryId", newBody(`"name":"a"`, `"categoryId"`), "^categoryId is required$"},
		{"name in another case", newBody(`"name"`, `"NAME":"a"`), "^name is required$"},
		{"U+0000 in name", newBody(`"name":"a\u0000b"`), "^name must not contain U.0000"},
		{"U+0000 in name, raw", newBody("\"name\":\"a\x00b\""), "body"},
		{"a null categoryId", newBody(`"name":"a"`, `"categoryId":null`), "^categoryId must"},
		{"a string as categoryId", newBody(`"name":"a"`, `"categoryId":"1"`), "^categoryId must be an integer"},
		{"categoryId 7.0", newBody(`"name":"a"`, `"categoryId":7.0`), "^categoryId must be an integer"},
		{"categoryId 2^63", newBody(`"name":"a"`, `"categoryId":9223372036854775808`), "^categoryId must be"},
		{"categoryId -2^63-1", newBody(`"name":"a"`, `"categoryId":-9223372036854775809`), "^categoryId must be"},
		{"categoryId 01", newBody(`"name":"a"`, `"categoryId":01`), "body"},
		{"a null status", newBody(`"name":"a"`, `"status":null`), "^status must be one of available, pending, sold$"},
		{"an empty status", newBody(`"name":"a"`, `"status":""`), "^status must be one of"},
		{"an unknown status", newBody(`"name":"a"`, `"status":"lost"`), "^status must be one of"},
		{"status in another case", newBody(`"name":"a"`, `"status":"Sold"`), "^status must be one of"},
		{"name twice", newBody(`"name":"a","name":"b"`), `"?name"?.* (twice|once|repeat|dup)`},
		{"a second value", newBody() + newBody(), "body"},
		{"a trailing comma", strings.Replace(newBody(), "}", ",}", 1), "body"},
		{"a byte order mark", "\ufeff" + newBody(), "body"},
		{"UTF-16", "{\x00}\x00", "body"},
		{"invalid UTF-8", newBody("\"name\":\"\xff\""), "UTF-8"},
		{"a lone high surrogate", newBody(`"name":"\ud800"`), "body|name"},
		{"101 levels, all but one of them objects", strings.Repeat(`{"x":`, 100) + "[]" + strings.Repeat("}", 100), "100 levels"},
	} {
		t.Run(c.name, func(t reporter) {
			s.expect(t, s.post(c.body), want{status: 400, code: "invalid_body", message: c.message})
		})
	}
	t.Run("nothing was added", func(t reporter) {
		page, _ := s.list(t, fmt.Sprintf("?limit=100&after=%d", before.ID))
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
		{"required properties", newBody(`"name":"v"`), pet{Name: "v", CategoryID: 1}},
		{"all properties", newBody(`"name":"v"`, `"status":"sold"`), pet{Name: "v", CategoryID: 1, Status: "sold"}},
		{"an empty name", newBody(`"name":""`), pet{CategoryID: 1}},
		{"spaces in name", newBody(`"name":"  v "`), pet{Name: "  v ", CategoryID: 1}},
		{"a name that is not normalized", newBody(`"name":"e\u0301"`), pet{Name: "e\u0301", CategoryID: 1}},
		{"noncharacters", newBody(`"name":"\uffff\ufffe"`), pet{Name: "\uffff\ufffe", CategoryID: 1}},
		{"U+FFFD", newBody(`"name":"\ufffd"`), pet{Name: "\ufffd", CategoryID: 1}},
		{"a surrogate pair", newBody(`"name":"\ud83d\udc31"`), pet{Name: "🐱", CategoryID: 1}},
		{"control characters", newBody(`"name":"\u0001\r\n\u007f\u2028"`), pet{Name: "\u0001\r\n\u007f\u2028", CategoryID: 1}},
		{"HTML", newBody(`"name":"<b>&amp;\"\\/\/"`), pet{Name: `<b>&amp;"\//`, CategoryID: 1}},
		{"escaped property names", newBody(`"name"`, `"categoryId"`, `"\u006eame":"v"`, `"c\u0061tegoryId":1`), pet{Name: "v", CategoryID: 1}},
		{"status in another case", newBody(`"name":"v"`, `"STATUS":"bogus"`), pet{Name: "v", CategoryID: 1}},
		{"other names in another case", newBody(`"name":"v"`, `"NAME":"b"`, `"CategoryID":2`, `"categoryid":3`), pet{Name: "v", CategoryID: 1}},
		{"an id", newBody(`"id":99`, `"name":"v"`), pet{Name: "v", CategoryID: 1}},
		{"unknown properties", newBody(`"name":"v"`, `"x":{"y":[null,true]}`, `"":0`), pet{Name: "v", CategoryID: 1}},
		{"whitespace around", "\r\n\t " + newBody(`"name":"v"`) + " \n", pet{Name: "v", CategoryID: 1}},
		{"categoryId 0", newBody(`"name":"v"`, `"categoryId":0`), pet{Name: "v"}},
		{"categoryId -1", newBody(`"name":"v"`, `"categoryId":-1`), pet{Name: "v", CategoryID: -1}},
		{"categoryId past 2^53", newBody(`"name":"v"`, `"categoryId":9007199254740993`), pet{Name: "v", CategoryID: 9007199254740993}},
		{"the greatest categoryId", newBody(`"name":"v"`, `"categoryId":9223372036854775807`), pet{Name: "v", CategoryID: 9223372036854775807}},
		{"the least categoryId", newBody(`"name":"v"`, `"categoryId":-9223372036854775808`), pet{Name: "v", CategoryID: -9223372036854775808}},
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
		{"text", []string{"Content-Type: text/plain"}, acceptJSON},
		{"another kind of JSON", []string{"Content-Type: application/vnd.api+json"}, acceptJSON},
		{"twice", []string{jsonType, "Content-Type: text/plain"}, acceptJSON},
		{"gzip", []string{jsonType, "Content-Encoding: gzip"}, acceptIdentity},
	} {
		t.Run(c.name, func(t reporter) {
			r := request{method: "POST", target: s.base + "/pets", header: append(c.header, s.auth()), body: newBody()}
			if c.want == nil {
				s.expect(t, r, want{status: 201})
				return
			}
			s.expect(t, r, want{status: 415, code: "unsupported_media_type", message: "Content-Type|body", header: c.want})
		})
	}
	// Of several faults, a parameter comes first, then the size, then the type.
	r := request{method: "POST", target: s.base + "/pets", header: []string{"Content-Type: text/plain", s.auth()}, body: padded(65_537)}
	t.Run("too large", func(t reporter) {
		s.expect(t, r, want{status: 413, code: "payload_too_large"})
	})
	t.Run("too large, with an invalid header", func(t reporter) {
		s.expect(t, r.with(`Idempotency-Key: "`), want{status: 400, code: "invalid_request"})
	})
}

var (
	acceptJSON     = map[string]string{"Accept": "^application/json$"}
	acceptIdentity = map[string]string{"Accept-Encoding": "^identity$"}
)
