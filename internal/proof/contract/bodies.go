package contract

import (
	"encoding/json"
	"fmt"
	"strings"
)

const frank = `{"name":"Frank","categoryId":1}`

// nested returns a pet with an unknown property; the body is depth levels deep.
func nested(depth int) string {
	return `{"name":"a","categoryId":1,"x":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
}

// padded returns a pet whose body has exactly size bytes.
func padded(size int) string {
	const before, after = `{"categoryId":1,"name":"`, `"}`
	return before + strings.Repeat("x", size-len(before)-len(after)) + after
}

func (s *suite) invalidBody(t runner) {
	before, _ := s.create(t, frank)
	for _, c := range []struct{ name, body, message string }{
		{"nothing", "", "body"},
		{"spaces", " \r\n\t ", "body"},
		{"null", "null", "body must"},
		{"an array", "[" + frank + "]", "body must be an object"},
		{"a string", `"Frank"`, "body must be an object"},
		{"an empty object", "{}", "(name|categoryId) is required"},
		{"no name", `{"categoryId":1}`, "^name is required$"},
		{"no categoryId", `{"name":"a"}`, "^categoryId is required$"},
		{"name in another case", `{"NAME":"a","categoryId":1}`, "^name is required$"},
		{"a null name", `{"name":null,"categoryId":1}`, "^name "},
		{"a number as name", `{"name":1,"categoryId":1}`, "^name must be a string"},
		{"U+0000 in name", `{"name":"a\u0000b","categoryId":1}`, "^name must not contain U.0000"},
		{"U+0000 in name, raw", "{\"name\":\"a\x00b\",\"categoryId\":1}", "body"},
		{"a line feed in name, raw", "{\"name\":\"a\nb\",\"categoryId\":1}", "body"},
		{"a null categoryId", `{"name":"a","categoryId":null}`, "^categoryId must"},
		{"a string as categoryId", `{"name":"a","categoryId":"1"}`, "^categoryId must be an integer"},
		{"categoryId 7.0", `{"name":"a","categoryId":7.0}`, "^categoryId must be an integer"},
		{"categoryId 1e2", `{"name":"a","categoryId":1e2}`, "^categoryId must be an integer"},
		{"categoryId 1e400", `{"name":"a","categoryId":1e400}`, "^categoryId "},
		{"categoryId 2^63", `{"name":"a","categoryId":9223372036854775808}`, "^categoryId must be"},
		{"categoryId -2^63-1", `{"name":"a","categoryId":-9223372036854775809}`, "^categoryId must be"},
		{"categoryId of 1000 digits", `{"name":"a","categoryId":` + strings.Repeat("9", 1000) + `}`, "^categoryId "},
		{"categoryId 01", `{"name":"a","categoryId":01}`, "body"},
		{"a null status", `{"name":"a","categoryId":1,"status":null}`, "^status must be one of available, pending, sold$"},
		{"an empty status", `{"name":"a","categoryId":1,"status":""}`, "^status must be one of"},
		{"an unknown status", `{"name":"a","categoryId":1,"status":"lost"}`, "^status must be one of"},
		{"status in another case", `{"name":"a","categoryId":1,"status":"Sold"}`, "^status must be one of"},
		{"name twice", `{"name":"a","categoryId":1,"name":"b"}`, `"?name"?.* (twice|once|repeat|dup)`},
		{"name twice, once escaped", `{"name":"a","categoryId":1,"\u006eame":"b"}`, `"?name"?.* (twice|once|repeat|dup)`},
		{"an unknown property twice", `{"name":"a","categoryId":1,"x":1,"x":1}`, `"?x"?.* (twice|once|repeat|dup)`},
		{"a property twice, deep inside", `{"name":"a","categoryId":1,"x":[{"y":{"z":1,"z":2}}]}`, `z"?.* (twice|once|repeat|dup)`},
		{"a second value", frank + frank, "body"},
		{"trailing garbage", frank + "x", "body"},
		{"a trailing NUL", frank + "\x00", "body"},
		{"a trailing comma", `{"name":"a","categoryId":1,}`, "body"},
		{"an early end", `{"name":"a","categoryId":1`, "body"},
		{"a byte order mark", "\ufeff" + frank, "body"},
		{"UTF-16", "{\x00}\x00", "body"},
		{"invalid UTF-8", "{\"name\":\"\xff\",\"categoryId\":1}", "UTF-8"},
		{"a surrogate in UTF-8", "{\"name\":\"\xed\xa0\x80\",\"categoryId\":1}", "UTF-8"},
		{"invalid UTF-8 in an unknown property", "{\"name\":\"a\",\"categoryId\":1,\"\xff\":1}", "UTF-8"},
		{"a lone high surrogate", `{"name":"\ud800","categoryId":1}`, "body|name"},
		{"a lone low surrogate", `{"name":"\udc00","categoryId":1}`, "body|name"},
		{"a lone surrogate in an unknown property", `{"name":"a","categoryId":1,"x":"\ud800"}`, "body"},
		{"101 levels", nested(101), "^the body must be nested at most 100 levels deep$"},
		{"101 levels, all but one of them objects", strings.Repeat(`{"x":`, 100) + "[]" + strings.Repeat("}", 100), "100 levels"},
		{"30000 levels", strings.Repeat(`[`, 30_000), "100 levels"},
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
		{"required properties", `{"name":"v","categoryId":1}`, pet{Name: "v", CategoryID: 1}},
		{"all properties", `{"name":"v","categoryId":1,"status":"sold"}`, pet{Name: "v", CategoryID: 1, Status: "sold"}},
		{"an empty name", `{"name":"","categoryId":1}`, pet{CategoryID: 1}},
		{"spaces in name", `{"name":"  v ","categoryId":1}`, pet{Name: "  v ", CategoryID: 1}},
		{"a name that is not normalized", `{"name":"e\u0301","categoryId":1}`, pet{Name: "e\u0301", CategoryID: 1}},
		{"noncharacters", `{"name":"\uffff\ufffe","categoryId":1}`, pet{Name: "\uffff\ufffe", CategoryID: 1}},
		{"U+FFFD", `{"name":"\ufffd","categoryId":1}`, pet{Name: "\ufffd", CategoryID: 1}},
		{"a surrogate pair", `{"name":"\ud83d\udc31","categoryId":1}`, pet{Name: "🐱", CategoryID: 1}},
		{"control characters", `{"name":"\u0001\r\n\u007f\u2028","categoryId":1}`, pet{Name: "\u0001\r\n\u007f\u2028", CategoryID: 1}},
		{"HTML", `{"name":"<b>&amp;\"\\/\/","categoryId":1}`, pet{Name: `<b>&amp;"\//`, CategoryID: 1}},
		{"escaped property names", `{"\u006eame":"v","c\u0061tegoryId":1}`, pet{Name: "v", CategoryID: 1}},
		{"status in another case", `{"name":"v","categoryId":1,"STATUS":"bogus"}`, pet{Name: "v", CategoryID: 1}},
		{"other names in another case", `{"name":"v","categoryId":1,"NAME":"b","CategoryID":2,"categoryid":3}`, pet{Name: "v", CategoryID: 1}},
		{"an id", `{"id":99,"name":"v","categoryId":1}`, pet{Name: "v", CategoryID: 1}},
		{"brackets in a string", `{"name":"v","categoryId":1,"x":"` + strings.Repeat(`[{\"`, 101) + `"}`, pet{Name: "v", CategoryID: 1}},
		{"unknown properties", `{"name":"v","categoryId":1,"x":{"y":[null,true]},"":0}`, pet{Name: "v", CategoryID: 1}},
		{"100 levels", nested(100), pet{Name: "a", CategoryID: 1}},
		{"whitespace around", "\r\n\t " + `{"name":"v","categoryId":1}` + " \n", pet{Name: "v", CategoryID: 1}},
		{"categoryId 0", `{"name":"v","categoryId":0}`, pet{Name: "v"}},
		{"categoryId -1", `{"name":"v","categoryId":-1}`, pet{Name: "v", CategoryID: -1}},
		{"categoryId past 2^53", `{"name":"v","categoryId":9007199254740993}`, pet{Name: "v", CategoryID: 9007199254740993}},
		{"the greatest categoryId", `{"name":"v","categoryId":9223372036854775807}`, pet{Name: "v", CategoryID: 9223372036854775807}},
		{"the least categoryId", `{"name":"v","categoryId":-9223372036854775808}`, pet{Name: "v", CategoryID: -9223372036854775808}},
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

func (s *suite) bodySize(t runner) {
	for _, chunked := range []bool{false, true} {
		at, over := s.post(padded(65_536)), s.post(padded(65_537))
		at.chunked, over.chunked = chunked, chunked
		t.Run(fmt.Sprintf("65536 bytes, chunked %t", chunked), func(t reporter) {
			s.expect(t, at, want{status: 201})
		})
		t.Run(fmt.Sprintf("65537 bytes, chunked %t", chunked), func(t reporter) {
			s.expect(t, over, want{status: 413, code: "payload_too_large", message: "65536 bytes"})
		})
	}
}

func (s *suite) mediaType(t runner) {
	for _, c := range []struct {
		name   string
		header []string
		want   map[string]string // of the 415; nil if the body is accepted
	}{
		{"in another case", []string{"Content-Type: Application/JSON; charset=utf-8"}, nil},
		{"a quoted charset", []string{`Content-Type: application/json;charset="UTF-8"`}, nil},
		{"another parameter", []string{"Content-Type: application/json; profile=x"}, nil},
		{"none", nil, acceptJSON},
		{"empty", []string{"Content-Type:"}, acceptJSON},
		{"text", []string{"Content-Type: text/plain"}, acceptJSON},
		{"another kind of JSON", []string{"Content-Type: application/vnd.api+json"}, acceptJSON},
		{"a form", []string{"Content-Type: application/x-www-form-urlencoded"}, acceptJSON},
		{"twice", []string{jsonType, "Content-Type: text/plain"}, acceptJSON},
		{"gzip", []string{jsonType, "Content-Encoding: gzip"}, acceptIdentity},
		{"gzip, later", []string{jsonType, "Content-Encoding: identity", "Content-Encoding: br"}, acceptIdentity},
	} {
		t.Run(c.name, func(t reporter) {
			r := request{method: "POST", target: s.base + "/pets", header: append(c.header, s.auth()), body: frank}
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
