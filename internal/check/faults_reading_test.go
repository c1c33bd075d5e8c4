package check_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

func listingFaults() []fault {
	listed := (*exchange).listed
	query := func(raw string) func(*exchange) bool {
		return func(x *exchange) bool { return x.query() == raw && x.keyed() }
	}
	return []fault{
		{name: "206 for the list", after: func(x *exchange) {
			if x.listed() && x.query() == "" && strings.HasPrefix(credentials(x), "Bearer ") && x.request.Header.Get("Accept") == "" {
				x.status = 206
			}
		}, rules: []string{"the list is 200", "limit is 20 where none is given"}},
		{name: "null for an empty list", after: func(x *exchange) {
			if x.body == "[]" || x.body == "[]\n" {
				x.body = "null"
			}
		}, rules: []string{"the list is an array of objects, never null", "past the end the list is []"}},
		{name: "floats for integers", after: func(x *exchange) {
			if x.listed() {
				x.body = regexp.MustCompile(`"categoryId":(-?\d+)`).ReplaceAllString(x.body, `"categoryId":$1.0`)
			}
		}, rules: []string{"each has id, name and categoryId, of their types"}},
		replaced("a status of its own", `"status":"pending"`, `"status":"on hold"`, func(x *exchange) bool { return x.listed() && x.query() == "limit=100" },
			"each has a status, one of the three", "it is as in the list"),
		{name: "the page backwards", after: func(x *exchange) {
			if x.listed() && x.query() == "limit=100" {
				x.body = backwards(x.body)
			}
		}, rules: []string{"ids ascend in the list", "after gives the very next one"}},
		queryFault("ten by default", "", "limit=10", "limit is 20 where none is given"),
		{
			name: "two for one",
			before: func(x *exchange) {
				if x.query() == "limit=1" {
					x.setQuery("limit=2")
				}
			},
			after: func(x *exchange) {
				x.header.Set("Link", strings.Replace(x.header.Get("Link"), "limit=2&", "limit=1&", 1))
			},
			rules: []string{"limit=1 gives one"},
		},
		responds("fifty at most", 400, "invalid_parameter", query("limit=100&after=0"), "limit=100 is taken, and gives no more"),
		queryFault("limit=-1 is 1", "limit=-1", "limit=1", "limit below 1 is 400"),
		queryFault("limit=101 is 100", "limit=101", "limit=100", "limit above 100 is 400"),
		queryFault("limit=1.5 is 1", "limit=1.5", "limit=1", "limit that is no integer is 400"),
		queryFault("limit= is none", "limit=", "", "an empty limit is 400"),
		queryFault("the first limit", "limit=1&limit=2", "limit=1", "limit given twice is 400"),
		queryFault("no filter", "status=sold", "", "status gives animals of that status only"),
		{name: "a filter that loses", after: func(x *exchange) {
			if x.query() == "limit=100&status=sold" {
				x.body = "[]"
			}
		}, rules: []string{"status leaves out none of them"}},
		queryFault("status=lost is none", "status=lost", "", "an unknown status is 400"),
		queryFault("status= is none", "status=", "", "an empty status is 400"),
		queryFault("the first status", "status=sold&status=pending", "status=sold", "status given twice is 400"),
		responds("unknown parameters", 400, "invalid_parameter", func(x *exchange) bool { return strings.Contains(x.query(), "petstore-check") }, "unknown parameters are ignored"),
		queryFault("%zz is dropped", "limit=%zz", "", "a malformed query string is 400"),
		replaced("another code for a parameter", "invalid_parameter", "invalid_request", query("limit=0"), "the code of a refused parameter is invalid_parameter"),
		responds("406", 406, "not_acceptable", func(x *exchange) bool { return x.request.Header.Get("Accept") == "text/html" }, "Accept is not consulted"),
		header("HEAD without Content-Type", "Content-Type", "", func(x *exchange) bool { return x.method("HEAD") && x.query() == "limit=1" }, "HEAD responds like GET"),
		responds("headers of 8 KiB", 431, "too_large", func(x *exchange) bool { return x.request.Header.Get("X-Petstore-Check") != "" }, "a header of 30 KiB is taken"),
		replaced("wrong types in lists", `"name":"pet 1"`, `"name":null`, listed, "each has id, name and categoryId, of their types"),
	}
}

// backwards reverses a list of animals.
func backwards(list string) string {
	items := strings.Split(strings.Trim(strings.TrimSpace(list), "[]"), "},")
	var b strings.Builder
	for i := len(items) - 1; i >= 0; i-- {
		b.WriteString("," + strings.TrimSuffix(items[i], "}") + "}")
	}
	return "[" + b.String()[1:] + "]"
}

func pagingFaults() []fault {
	// link changes the Link of a page.
	link := func(name string, change func(string) string, rules ...string) fault {
		return fault{name: name, rules: rules, after: func(x *exchange) {
			if value := x.header.Get("Link"); strings.Contains(value, `rel="next"`) {
				x.header.Set("Link", change(value))
			}
		}}
	}
	shifted := func(name, pattern string, by int, rules ...string) fault {
		re := regexp.MustCompile(pattern)
		return fault{name: name, rules: rules, before: func(x *exchange) {
			if match := re.FindStringSubmatch(x.query()); match != nil {
				n, _ := strconv.Atoi(match[2])
				x.setQuery(match[1] + strconv.Itoa(n+by))
			}
		}}
	}
	afterOf := regexp.MustCompile(`after=(\d+)`)
	moved := func(by int) func(string) string {
		return func(value string) string {
			n, _ := strconv.Atoi(afterOf.FindStringSubmatch(value)[1])
			return afterOf.ReplaceAllString(value, "after="+strconv.Itoa(n+by))
		}
	}
	ofOwn := regexp.MustCompile(`^limit=100&after=[1-9]`)
	return []fault{
		shifted("after is inclusive", `^(after=)(\d{1,9})$`, -1, "after gives greater ids only"),
		shifted("after skips one", `^(limit=100&after=)([1-9]\d*)$`, 1, "after gives the very next one", "a walk meets what was added before it"),
		responds("404 past the end", 404, "not_found", func(x *exchange) bool { return x.query() == "after="+maxInt }, "past the end the list is []"),
		responds("after=0", 400, "invalid_parameter", func(x *exchange) bool { return x.query() == "after=0&limit=1" }, "after=0 is the beginning"),
		queryFault("after=-1 is 0", "after=-1", "", "after below 0 is 400"),
		queryFault("after=abc is 0", "after=abc", "", "after that is no int64 is 400"),
		queryFault("after= is 0", "after=", "", "an empty after is 400"),
		queryFault("the first after", "after=1&after=1", "after=1", "after given twice is 400"),
		header("no Link", "Link", "", func(*exchange) bool { return true }, `where more follow, Link has rel="next"`),
		link("links behind the proxy", func(v string) string { return strings.Replace(v, "</v1", "<http://inner.example/v1", 1) }, "the next link leads to this address"),
		link("links without limit", func(v string) string { return regexp.MustCompile(`limit=\d+&`).ReplaceAllString(v, "") }, "the next link keeps limit"),
		link("links without status", func(v string) string { return regexp.MustCompile(`status=\w+&`).ReplaceAllString(v, "") }, "the next link keeps status"),
		header("a link on the last page", "Link", `</v1/pets?after=`+maxInt+`>; rel="next"`, func(x *exchange) bool { return x.query() == "after="+maxInt }, "the last page has no next link"),
		link("pages overlap", moved(-1), "a walk over the pages meets no animal twice"),
		link("pages leave a gap", moved(1), "a walk leaves out none of a greater page's"),
		{name: "the last one is lost", after: func(x *exchange) {
			if i := strings.LastIndex(x.body, ",{"); ofOwn.MatchString(x.query()) && i > 0 {
				x.body = x.body[:i] + "]"
			}
		}, rules: []string{"a walk meets what was added before it"}},
		{name: "a walk without end", after: func(x *exchange) {
			if ofOwn.MatchString(x.query()) && x.header.Get("Link") == "" {
				x.header.Set("Link", "<"+x.request.RequestURI+`>; rel="next"`)
			}
		}, rules: []string{"a walk comes to an end"}},
	}
}

func gettingFaults() []fault {
	fetched := (*exchange).fetched
	at := func(path string) func(*exchange) bool {
		return func(x *exchange) bool { return x.path() == path && credentials(x) == "Bearer "+key && x.method("GET") }
	}
	missing := func(x *exchange) bool { return strings.HasPrefix(x.path(), "/pets/") && x.status == 404 }
	return []fault{
		{name: "203 for an animal", after: func(x *exchange) {
			if x.fetched() {
				x.status = 203
			}
		}, rules: []string{"an animal is 200", "what was added can be fetched at once"}},
		replaced("another name", `"name":"`, `"name":"Mr `, fetched, "it is as in the list", "what was added can be fetched at once"),
		replaced("a float for an integer", `"categoryId":1,`, `"categoryId":1.0,`, fetched, "it has id, name and categoryId, of their types"),
		responds("digits in plain", 400, "invalid_parameter", func(x *exchange) bool { return strings.Contains(x.request.RequestURI, "/pets/%") }, "percent-encoded digits are digits"),
		responds("410", 410, "gone", at("/pets/"+maxInt), "an id that no animal has is 404", "HEAD of an error responds like GET"),
		responds("400 for 0", 400, "invalid_parameter", at("/pets/0"), "0 and negative ids are 404"),
		responds("404 for 1.5", 404, "not_found", at("/pets/1.5"), "an id that is no integer is 400"),
		responds("404 past int64", 404, "not_found", at("/pets/9223372036854775808"), "an id past int64 is 400"),
		header("HEAD without Sunset", "Sunset", "", func(x *exchange) bool { return x.method("HEAD") && x.fetched() }, "HEAD of an animal responds like GET"),
		header("no Deprecation", "Deprecation", "", fetched, "an animal comes with Deprecation: @1795219200"),
		header("no Deprecation of errors", "Deprecation", "", missing, "400, 401 and 404 come with Deprecation too"),
		header("another Sunset", "Sunset", "Fri, 06 Dec 2030 00:00:00 GMT", fetched, "an animal comes with the date of its Sunset"),
		header("no Sunset of errors", "Sunset", "", missing, "400, 401 and 404 come with Sunset too"),
		header("a deprecated list", "Deprecation", "@1795219200", func(x *exchange) bool { return x.path() == "/pets" }, "the list announces no end"),
	}
}

func routingFaults() []fault {
	of := func(method string) func(*exchange) bool { return func(x *exchange) bool { return x.method(method) } }
	return []fault{
		responds("a redirect to the list", 301, "moved", func(x *exchange) bool { return x.path() == "/pets/" && x.keyed() }, "an unknown path is 404"),
		responds("401 for unknown paths", 401, "unauthorized", func(x *exchange) bool { return !x.keyed() && x.status == 404 }, "an unknown path is 404 without a key too"),
		responds("404 for other methods", 404, "not_found", func(x *exchange) bool { return x.method("PROPFIND") && x.path() == "/pets/1" }, "another method than the path has is 405"),
		responds("401 for other methods", 401, "unauthorized", func(x *exchange) bool { return !x.keyed() && x.status == 405 }, "another method is 405 without a key too"),
		header("no Allow", "Allow", "", status(405), "405 says in Allow what there is"),
		header("some of Allow", "Allow", "GET", status(405), "405 says in Allow what there is"),
		{name: "animals can be removed", after: func(x *exchange) {
			if x.method("DELETE") {
				x.status, x.body = http.StatusNoContent, ""
			}
		}, rules: []string{"an animal cannot be changed or removed: 405"}},
		{name: "200 for OPTIONS", after: func(x *exchange) {
			if x.method("OPTIONS") {
				x.status = 200
			}
		}, rules: []string{"OPTIONS is 204 and needs no key"}},
		header("OPTIONS without Allow", "Allow", "", of("OPTIONS"), "OPTIONS says in Allow what there is"),
		{name: "HEAD never fails", after: func(x *exchange) {
			if x.method("HEAD") && x.query() == "limit=0" {
				x.status = 200
			}
		}, rules: []string{"HEAD of an error responds like GET"}},
	}
}

func everyFaults() []fault {
	var mu sync.Mutex
	n := 0
	own := func(x *exchange) bool { return x.request.Header.Get("X-Request-Id") != "" }
	return []fault{
		{name: "ids always new", after: func(x *exchange) {
			mu.Lock()
			defer mu.Unlock()
			n++
			x.header.Set("X-Request-Id", "new-"+strconv.Itoa(n))
		}, rules: []string{"a client's X-Request-Id is kept"}},
		{name: "ids always kept", after: func(x *exchange) {
			if own(x) {
				x.header.Set("X-Request-Id", x.request.Header.Get("X-Request-Id"))
			}
		}, rules: []string{"one that is none is replaced", "every response has an X-Request-Id"}},
		header("one id for all", "X-Request-Id", "always", func(x *exchange) bool { return !own(x) }, "two requests get two ids"),
		header("no id of errors", "X-Request-Id", "", status(404), "every response has an X-Request-Id"),
		header("sniffing", "X-Content-Type-Options", "", status(401), "every response has X-Content-Type-Options: nosniff"),
		header("storing", "Cache-Control", "max-age=60", (*exchange).listed, "every response has Cache-Control: no-store", "HEAD responds like GET"),
		header("text/json", "Content-Type", "text/json", (*exchange).added, "every success with a body is application/json"),
		header("errors in text", "Content-Type", "text/plain", status(405), "every error is application/json"),
		replaced("errors without a message", `"message"`, `"detail"`, status(404), "errors have code, message and status, of their types"),
		{name: "the status as a string", after: func(x *exchange) {
			x.body = regexp.MustCompile(`"status":(\d+)`).ReplaceAllString(x.body, `"status":"$1"`)
		}, rules: []string{"errors have code, message and status, of their types"}},
		replaced("another status in the body", `"status":415`, `"status":400`, status(415), "status in the body is that of the response"),
		replaced("codes in camel case", "method_not_allowed", "methodNotAllowed", status(405), "every code is lower_snake_case", "every code is the one listed for the status"),
		replaced("another code", "not_found", "missing", status(404), "every code is the one listed for the status"),
		{name: "no words", after: func(x *exchange) {
			if x.status == 405 {
				x.body = `{"code":"method_not_allowed","message":"","status":405}`
			}
		}, rules: []string{"every message is one line for a person"}},
		responds("500", 500, "internal", func(x *exchange) bool { return strings.Contains(x.sent, "[[[[") }, "nesting past 10,000 levels is 400", "no response is 5xx, unless it is 503"),
		responds("503 without Retry-After", 503, "unavailable", func(x *exchange) bool { return x.path() == "/pets/1e1" }, "an id that is no integer is 400", "every 503 and 429 has Retry-After"),
	}
}
