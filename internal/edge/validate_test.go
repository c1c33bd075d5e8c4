package edge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestParameterMessages(t *testing.T) {
	const malformed = "the query string is malformed or has too many parameters: % must be followed by two hexadecimal digits, and ; must be written as %3B"
	s, _ := newHandler(t, func(l *library, _ *Options) {
		l.handlers["listBooks"] = func(c echo.Context) error { return c.String(http.StatusOK, c.QueryString()) }
	})
	for query, want := range map[string]string{
		"year=2147483648":                       "year must be an integer of 32 bits, written in digits",
		"price=0x1p3":                           "price must be of type number",
		"price=11":                              "price must be at most 10.5",
		"sold=T":                                "sold must be of type boolean",
		"kind=":                                 "kind must be one of novel, poem",
		"tag=a&tag=b&tag=c":                     "tag is invalid: maximum number of items is 2",
		"tag=abcd":                              "tag[0] is invalid: maximum string length is 3",
		"level=1&level=x":                       "level must be an integer of 64 bits, written in digits",
		"from=2026-02-30":                       "from must be a valid date",
		"kind=%FF":                              "kind must be in UTF-8",
		"limit=0" + strings.Repeat("&", 10_000): malformed,
	} {
		wantError(t, do(s, get("/v1/books?"+query)), 400, "invalid_parameter", want)
	}
	for _, query := range []string{"", "limit=100", "year=-5", "price=1e1", "level=1&level=2", "from=2024-02-29", "sold=true", "tag=a&tag=b", "unknown=1&unknown=2"} {
		if w := do(s, get("/v1/books?"+query)); w.Code != http.StatusOK || w.Body.String() != query { // without defaults
			t.Errorf("%q: got %d, %s, want 200", query, w.Code, w.Body)
		}
	}
}

// TestPaths has methods, optional bodies, and names with %2F, which are validated and
// passed on decoded.
func TestPaths(t *testing.T) {
	s, _ := newHandler(t, nil)
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "books:count", "", 200, `""`},
		{"PUT", "notes/a%2Fb/text", "", 200, `"a/b"`},
		{"PUT", "notes/a%2fb/text", "", 200, `"a/b"`},
		{"PUT", "notes/%2537/text", "", 200, `"%37"`},
		{"PUT", "notes/%2F%2537/text", "", 200, `"/%37"`},
		{"PUT", "notes/a%2Fbcd/text", "", 400, "length is 4"},
		{"PUT", "notes/a/text", `{"title":"b"}`, 200, `"ab"`},
		{"PUT", "notes/a/text", "{}", 400, "title is required"},
		{"DELETE", "notes/abcdef/text", "", 200, `"abcdef"`},
		{"PUT", "notes//text", "", 404, "nothing at this path"},
		{"PATCH", "notes/a/text", `{"title":"b"}`, 200, `"ab"`},
	} {
		w := do(s, newRequest(test.method, "/v1/"+test.path, test.body))
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s %s %s: got %d, %s, want %d, %s", test.method, test.path, test.body, w.Code, w.Body, test.status, test.want)
		}
	}
}

var long = strings.Repeat("k", 65) // a name that is too long to be shown

var bodyMessages = map[string]string{
	`null`:                                        "the body must not be null",
	`{"title":5}`:                                 "title must be of type string",
	`{"title":"a","pages":"1"}`:                   "pages must be an integer of 64 bits, written in digits, not a string",
	`{"title":"a","kind":null}`:                   "kind must not be null; it may be left out",
	`{"title":"a","chapters":[null]}`:             "chapters[0] must not be null",
	`{"title":null}`:                              "title must not be null",
	`{"title":""}`:                                "title is invalid: minimum string length is 1",
	`{"title":"a!"}`:                              "title must not contain an exclamation mark",
	`{"title":"a","edition":2147483648}`:          "edition must be an integer of 32 bits, written in digits",
	`{"title":"a","edition":0}`:                   "edition must be at least 1",
	`{"title":"a","weight":0}`:                    "weight must be more than 0",
	`{"title":"a","tags":["a","B"]}`:              `tags[1] is invalid: string doesn't match the regular expression "^[a-z]+$"`,
	`{"title":"a","author":{}}`:                   "author.name is required",
	`{"title":"a","chapters":[{"title":"b"},{}]}`: "chapters[1].title is required",
	`{"title":"a","chapters":[{"title":"b","pages":[1,2.0]}]}`: "chapters[0].pages[1] must be an integer of 64 bits, written in digits",
	`{"title":"a","author":{"1\n":1,"1\n":2}}`:                 `author has the property "1\n" twice`,
	`{"title":"a","x":1e999`:                                   "the JSON of the body is incomplete",
	`{"` + long + `":1,"` + long + `":2}`:                      `the body has the property "` + long[1:] + `" twice`,
	strings.Repeat(`{"x":`, 101):                               "the body must be nested at most 100 levels deep",
	`{'a':1}`:                                                  `the body is not valid JSON in UTF-8: unexpected "'a':1}" at byte 2`,
	"{\"a\":\"\xff\"}":                                         `the body is not valid JSON in UTF-8: unexpected "\xff\"}" at byte 7`,
	` `:                                                        "the JSON of the body is incomplete",
	``:                                                         "a body is required",
}

func TestBodyMessages(t *testing.T) {
	s, _ := newHandler(t, nil)
	for body, want := range bodyMessages {
		wantError(t, do(s, newRequest("POST", "/v1/books", body)), 400, "invalid_body", want)
	}
	for _, body := range []string{
		`{"title":"a","TITLE":5}`, `{"title":"a","unknown":[1e400,-1e400]}`, `{"title":"é🐕","note":null,"pages":-9223372036854775808}`,
		`{"title":"a","x":` + strings.Repeat("[", 99) + `"[{\"["` + strings.Repeat("]", 99) + `}`, `{"title":"a"` + strings.Repeat(" ", MaxBody-13) + "}",
	} {
		if w := do(s, newRequest("POST", "/v1/books", body)); w.Code != http.StatusOK {
			t.Errorf("%s: got %d, %s, want 200", body, w.Code, w.Body)
		}
	}
}

// FuzzBody checks that the decoder never panics, and that its errors are written for
// clients.
func FuzzBody(f *testing.F) {
	for body := range bodyMessages {
		f.Add([]byte(body))
	}
	document, err := ParseDocument([]byte(books), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		err := decodeBody(document.operations["addBook"].body, body, new(book))
		if err != nil && (strings.Contains(err.Error(), "Go ") || err.Error() == "") {
			t.Errorf("%q: got error %q, want a sentence for a client", body, err)
		}
	})
}
