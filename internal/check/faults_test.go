package check_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// fault is a way to be wrong, and the rows that must say so: no others may.
type fault struct {
	name          string
	before, after func(*exchange)
	rows          []string
}

// maxInt is an id that no animal has.
const maxInt = "9223372036854775807"

// answers is a fault that answers some requests with another error.
func answers(name string, status int, code string, when func(*exchange) bool, rows ...string) fault {
	return fault{name: name, rows: rows, after: func(x *exchange) {
		if when(x) {
			x.fails(status, code)
		}
	}}
}

// queryFault takes one query string for another.
func queryFault(name, query, instead string, rows ...string) fault {
	return fault{name: name, rows: rows, before: func(x *exchange) {
		if x.query() == query {
			x.setQuery(instead)
		}
	}}
}

// replaced changes a text in the answers that when selects.
func replaced(name, text, instead string, when func(*exchange) bool, rows ...string) fault {
	return fault{name: name, rows: rows, after: func(x *exchange) {
		if when(x) {
			x.body = strings.ReplaceAll(x.body, text, instead)
		}
	}}
}

// header sets a header of the answers that when selects, or takes it away.
func header(name, field, value string, when func(*exchange) bool, rows ...string) fault {
	return fault{name: name, rows: rows, after: func(x *exchange) {
		switch {
		case !when(x):
		case value == "":
			x.header.Del(field)
		default:
			x.header.Set(field, value)
		}
	}}
}

// bodyFault answers a body that must be 400 with 409.
func bodyFault(text, row string) fault {
	return answers("409 for "+text, 409, "conflict", func(x *exchange) bool {
		return x.method("POST") && x.keyed() && strings.Contains(x.sent, text)
	}, row)
}

func credentials(x *exchange) string { return x.request.Header.Get("Authorization") }

func status(code int) func(*exchange) bool {
	return func(x *exchange) bool { return x.status == code }
}

func authenticationFaults() []fault {
	const token = "Bearer " + key
	isList := func(x *exchange) bool { return x.path() == "/pets" && x.query() == "" && x.method("GET") }
	wrongKey := func(x *exchange) bool { return strings.Contains(credentials(x), "which-is-none") }
	become := func(name string, when func(*exchange) bool, rows ...string) fault {
		return fault{name: name, rows: rows, before: func(x *exchange) {
			if when(x) {
				x.request.Header["Authorization"] = []string{token}
			}
		}}
	}
	return []fault{
		answers("403 without a key", 403, "forbidden", func(x *exchange) bool {
			return isList(x) && !x.keyed() && x.status == 401 && len(x.request.Header["Authorization"]) == 0
		},
			"a request without a key is 401", "every 401 has the same body"),
		header("no challenge", "WWW-Authenticate", "", status(401),
			"the challenge to no key is Bearer, with a realm", "the challenge to no key names no error", `the challenge to a wrong key says error="invalid_token"`),
		header("no realm", "WWW-Authenticate", "Bearer", func(x *exchange) bool { return x.status == 401 && !x.keyed() },
			"the challenge to no key is Bearer, with a realm"),
		header("always invalid_token", "WWW-Authenticate", `Bearer realm="petstore", error="invalid_token"`, status(401),
			"the challenge to no key names no error"),
		header("never invalid_token", "WWW-Authenticate", `Bearer realm="petstore"`, status(401),
			`the challenge to a wrong key says error="invalid_token"`),
		answers("403 for a wrong key", 403, "forbidden", func(x *exchange) bool { return wrongKey(x) && x.path() != "/pets" },
			"a wrong key is 401"),
		replaced("a 401 that tells why", "a valid API key", "a Bearer key", func(x *exchange) bool { return strings.HasPrefix(credentials(x), "Basic eDp5") },
			"every 401 has the same body"),
		answers("bearer with a small b", 401, "unauthorized", func(x *exchange) bool { return strings.HasPrefix(credentials(x), "bearer ") },
			"the scheme's case does not matter"),
		become("Token for Bearer", func(x *exchange) bool { return strings.HasPrefix(credentials(x), "Token ") }, "another scheme is 401"),
		become("the empty key", func(x *exchange) bool { return credentials(x) == "Bearer" }, "a scheme without a key is 401"),
		become("the first of two credentials", func(x *exchange) bool { return len(x.request.Header["Authorization"]) == 2 }, "two Authorization headers are 401"),
		become("a key in the URL", func(x *exchange) bool { return x.query() == "api_key="+key }, "a key in the URL is no key"),
		answers("400 before 401", 400, "invalid_parameter", func(x *exchange) bool { return !x.keyed() && x.query() == "limit=0" }, "401 comes before 400"),
		answers("403 for a wrong key of a create", 403, "forbidden", func(x *exchange) bool { return wrongKey(x) && x.method("POST") },
			"adding without a key or with a wrong one is 401"),
		answers("415 before 401", 415, "unsupported_media_type", func(x *exchange) bool {
			return !x.keyed() && x.method("POST") && x.request.Header.Get("Content-Type") == ""
		},
			"401 comes before 400, 413 and 415 where one is added"),
	}
}

func addingFaults() []fault {
	posted := func(text string) func(*exchange) bool {
		return func(x *exchange) bool { return x.method("POST") && strings.Contains(x.sent, text) }
	}
	added := (*exchange).added
	return []fault{
		{
			name: "200 for what was added",
			after: func(x *exchange) {
				if x.added() {
					x.status = 200
				}
			},
			rows: []string{
				"a name and a categoryId are enough: 201", "unknown properties are ignored", "Application/JSON; charset=utf-8 is JSON", "a body of 64 KiB is taken",
				"the same Idempotency-Key and animal: 201 and the same animal", "a key of 255 characters is taken",
			},
		},
		{name: "ids as strings", after: func(x *exchange) { x.body = regexp.MustCompile(`"id":(\d+)`).ReplaceAllString(x.body, `"id":"$1"`) }, rows: []string{
			"the answer has id, name and categoryId, of their types", "each has id, name and categoryId, of their types", "it has id, name and categoryId, of their types",
		}},
		replaced("a sign lost", `"categoryId":-12`, `"categoryId":12`, added, "the answer has what was sent"),
		{
			name: "another default",
			before: func(x *exchange) {
				if x.method("POST") && !strings.Contains(x.sent, "status") && strings.HasSuffix(x.sent, `"categoryId":1}`) {
					x.sent = strings.TrimSuffix(x.sent, "}") + `,"status":"pending"}`
				}
			},
			rows: []string{"the status is available where none is given", "a default that is spelled out is the same animal"},
		},
		{name: "sold becomes pending", before: func(x *exchange) {
			if x.method("POST") {
				x.sent = strings.ReplaceAll(x.sent, `"status":"sold"}`, `"status":"pending"}`)
			}
		}, rows: []string{"each status is kept"}},
		idsPast2To53(),
		equalIsSame(),
		header("Location behind the proxy", "Location", "http://inner.example/v1/pets/1", added, "Location is where the animal is, below this address"),
		stale("stale gets", func(x *exchange, last string) {
			if x.method("GET") && x.path() == "/pets/"+last {
				x.fails(404, "not_found")
			}
		}, "what was added can be fetched at once"),
		stale("stale lists", func(x *exchange, last string) {
			if n, _ := strconv.Atoi(last); x.query() == fmt.Sprint("limit=1&after=", n-1) {
				x.body = "[]"
			}
		}, "what was added is in the list at once"),
		replaced("names are trimmed", `"name":"  `, `"name":"`, added, "a name keeps the spaces around it"),
		replaced("names of the basic plane", "\U00020BB7", "\uFFFD", added, "a name keeps characters beyond the basic plane"),
		replaced("names are normalised", "e\u0301", "\u00e9", added, "a name keeps combining characters as they are"),
		replaced("names are cleaned", "\u2028", " ", added, "a name keeps quotes, backslashes and control characters"),
		replaced("names are cut", strings.Repeat(" and so on", 98), " and so on", (*exchange).listed, "a name of 1,000 characters is kept"),
		answers("an empty name", 400, "invalid_body", posted(`"name":""`), "an empty name is a name"),
		answers("no escapes in names", 400, "invalid_body", posted(`na\u006de`), "a name may be sent in escapes"),
		replaced("a categoryId of JavaScript", "9007199254740993", "9007199254740992", added, "a categoryId is kept exactly, past 2^53 too"),
		answers("no least int64", 400, "invalid_body", posted("-9223372036854775808"), "a categoryId may be any int64"),
		answers("unknown properties", 400, "invalid_body", posted(`"tags"`), "unknown properties are ignored"),
		answers("JSON in small letters", 415, "unsupported_media_type", func(x *exchange) bool {
			return strings.HasPrefix(x.request.Header.Get("Content-Type"), "Application/JSON")
		}, "Application/JSON; charset=utf-8 is JSON"),
		answers("60,000 bytes are enough", 413, "payload_too_large", func(x *exchange) bool { return x.keyed() && len(x.sent) > 60_000 }, "a body of 64 KiB is taken"),
	}
}

// idsPast2To53 moves all ids past what JavaScript keeps whole.
func idsPast2To53() fault {
	const shift = 1 << 53
	move := func(pattern string, by int64) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(text string) string {
			return re.ReplaceAllStringFunc(text, func(match string) string {
				parts := re.FindStringSubmatch(match)
				n, err := strconv.ParseInt(parts[2], 10, 64)
				if err != nil || by < 0 && n+by < 0 {
					return match
				}
				return parts[1] + strconv.FormatInt(n+by, 10)
			})
		}
	}
	in, out := move(`(/pets/|after=)(\d+)`, -shift), move(`("id":|/pets/|after=)(\d+)`, shift)
	return fault{
		name: "ids past 2^53",
		before: func(x *exchange) {
			x.request.URL.Path, x.request.URL.RawPath = in(x.request.URL.Path), ""
			x.setQuery(in(x.query()))
		},
		after: func(x *exchange) {
			x.body = out(x.body)
			for _, name := range []string{"Location", "Link"} {
				if value := x.header.Get(name); value != "" {
					x.header.Set(name, out(value))
				}
			}
		},
		rows: []string{"the id is from 1 to 2^53-1", "each id is from 1 to 2^53-1"},
	}
}

// equalIsSame takes an equal body for a repetition.
func equalIsSame() fault {
	var mu sync.Mutex
	known := map[string]exchange{}
	return fault{
		name: "an equal body is a repetition",
		before: func(x *exchange) {
			mu.Lock()
			defer mu.Unlock()
			if before, ok := known[x.sent]; ok && x.method("POST") && x.keyed() && x.key() == "" {
				x.status, x.header, x.body = before.status, before.header.Clone(), before.body
				x.header.Del("X-Request-Id")
				x.header.Set("X-Request-Id", "r"+strconv.Itoa(len(known)))
			}
		},
		after: func(x *exchange) {
			mu.Lock()
			defer mu.Unlock()
			if x.added() && x.key() == "" {
				known[x.sent] = exchange{status: x.status, header: x.header.Clone(), body: x.body}
			}
		},
		rows: []string{"ids ascend", "without a key every request makes an animal"},
	}
}

// stale knows the id of what was added last.
func stale(name string, change func(x *exchange, last string), rows ...string) fault {
	var mu sync.Mutex
	last := "0"
	return fault{name: name, rows: rows, after: func(x *exchange) {
		mu.Lock()
		defer mu.Unlock()
		if x.added() {
			last = x.header.Get("Location")[len("/v1/pets/"):]
			return
		}
		change(x, last)
	}}
}

func refusingFaults() []fault {
	faults := []fault{
		bodyFault("\x7b\x7d", "a missing name or categoryId is 400"), // {} and what ends in it
		bodyFault(`"name":null`, "null for a name or a categoryId is 400"),
		bodyFault(`"status":null`, "null for a status is 400"),
		bodyFault(`"name":7`, "a name that is no string is 400"),
		bodyFault(`"categoryId":"7"`, "a categoryId that is no number is 400"),
		bodyFault(`"status":"lost"`, "a status that is none of the three is 400"),
		bodyFault(`:7.0`, "7.0 is no integer: 400"),
		bodyFault(`:1e2`, "1e2 is no integer: 400"),
		bodyFault(`:1.5`, "1.5 is no integer: 400"),
		bodyFault(`:9223372036854775808`, "a categoryId past int64 is 400"),
		bodyFault(`\u0000`, "a name with U+0000 is 400"),
		bodyFault(`category\u0049d`, "a duplicate key is 400"),
		bodyFault(`}]`, "anything behind the JSON is 400"),
		bodyFault(`:07}`, "malformed JSON is 400"),
		bodyFault("\xff", "invalid UTF-8 is 400"),
		bodyFault(`\ud83d"`, "a lone surrogate is 400"),
		bodyFault(`[[[[`, "nesting past 10,000 levels is 400"),
	}
	exactly := func(body, row string) fault {
		return answers("409 for exactly "+strconv.Quote(body), 409, "conflict", func(x *exchange) bool {
			return x.method("POST") && x.sent == body
		}, row)
	}
	typed := func(x *exchange) string { return x.request.Header.Get("Content-Type") }
	coded := func(x *exchange) string { return x.request.Header.Get("Content-Encoding") }
	faults[0] = exactly("{}", "a missing name or categoryId is 400")
	faults[12] = answers("409 for a bracket behind", 409, "conflict", func(x *exchange) bool {
		return x.method("POST") && strings.HasPrefix(x.sent, "{") && strings.HasSuffix(x.sent, "}]")
	}, "anything behind the JSON is 400")
	return append(
		faults,
		exactly(" ", "an empty body is 400"),
		exactly("[]", "JSON that is no object is 400"),
		fault{name: "the last of two keys counts", before: func(x *exchange) {
			x.sent = strings.Replace(x.sent, `,"category\u0049d":1`, "", 1)
		}, rows: []string{"a duplicate key is 400", "nothing that was refused has added an animal"}},
		replaced("another code for a body", "invalid_body", "invalid_request", func(x *exchange) bool { return strings.Contains(x.sent, `:"x"`) },
			"the code of a refused body is invalid_body"),
		answers("400 for a media type", 400, "invalid_request", func(x *exchange) bool { return x.keyed() && typed(x) == "" && x.status == 415 },
			"another media type or none is 415"),
		header("no Accept", "Accept", "", status(415), "415 for a media type says Accept: application/json"),
		answers("400 for a coding", 400, "invalid_request", func(x *exchange) bool { return coded(x) == "br" }, "a compressed body is 415"),
		header("no Accept-Encoding", "Accept-Encoding", "", status(415), "415 for a coding says Accept-Encoding: identity"),
		answers("400 for a large body", 400, "invalid_body", status(413), "a body of more than 64 KiB is 413"),
	)
}

func retryingFaults() []fault {
	keyed := func(name string, change func(*exchange), rows ...string) fault {
		return fault{name: name, rows: rows, before: func(x *exchange) {
			if x.key() != "" && len(x.request.Header["Idempotency-Key"]) == 1 {
				change(x)
			}
		}}
	}
	setKey := func(x *exchange, key string) { x.request.Header.Set("Idempotency-Key", key) }
	refused := func(name string, when func(keys []string) bool, rows ...string) fault {
		return answers(name, 409, "conflict", func(x *exchange) bool {
			keys := x.request.Header["Idempotency-Key"]
			return len(keys) > 0 && when(keys)
		}, rows...)
	}
	return []fault{
		{name: "keys are not known", before: func(x *exchange) { x.request.Header.Del("Idempotency-Key") }, rows: []string{
			"the same Idempotency-Key and animal: 201 and the same animal", "a key in quotes is the same as without them", "a default that is spelled out is the same animal",
			"the same key with another animal is 422", "16 requests at once with one key make one animal", "a key of 256 characters is 400", "an empty key is 400",
			"two keys, or a comma in a bare one, are 400", "nothing that was refused has added an animal",
		}},
		keyed("quotes are a part of the key", func(x *exchange) {
			if key := x.key(); len(key) > 2 {
				setKey(x, strings.ReplaceAll(key, `"`, "q"))
			}
		}, "a key in quotes is the same as without them"),
		keyed("bytes are compared", func(x *exchange) {
			if strings.HasPrefix(x.sent, `{"status"`) {
				setKey(x, x.key()+"-2")
			}
		}, "a default that is spelled out is the same animal"),
		answers("409 for a key used before", 409, "conflict", status(422), "the same key with another animal is 422"),
		keyed("keys meet at once", func(x *exchange) {
			if strings.HasSuffix(x.key(), "at-once") {
				x.request.Header.Del("Idempotency-Key")
			}
		}, "16 requests at once with one key make one animal"),
		keyed("only the beginning of a key", func(x *exchange) {
			setKey(x, strings.Replace(x.key(), "-other", "-one", 1))
		}, "another key makes another animal"),
		refused("short keys", func(keys []string) bool { return len(keys[0]) == 255 }, "a key of 255 characters is taken"),
		refused("409 for a long key", func(keys []string) bool { return len(keys[0]) == 256 }, "a key of 256 characters is 400"),
		refused("409 for an empty key", func(keys []string) bool { return keys[0] == "" }, "an empty key is 400"),
		refused("409 for two keys", func(keys []string) bool { return len(keys) == 2 }, "two keys, or a comma in a bare one, are 400"),
	}
}

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
		}, rows: []string{"the list is 200", "limit is 20 where none is given"}},
		{name: "null for an empty list", after: func(x *exchange) {
			if x.body == "[]" || x.body == "[]\n" {
				x.body = "null"
			}
		}, rows: []string{"the list is an array of objects, never null", "past the end the list is []"}},
		{name: "floats for integers", after: func(x *exchange) {
			if x.listed() {
				x.body = regexp.MustCompile(`"categoryId":(-?\d+)`).ReplaceAllString(x.body, `"categoryId":$1.0`)
			}
		}, rows: []string{"each has id, name and categoryId, of their types"}},
		replaced("a status of its own", `"status":"pending"`, `"status":"on hold"`, func(x *exchange) bool { return x.listed() && x.query() == "limit=100" },
			"each has a status, one of the three", "it is as in the list"),
		{name: "the page backwards", after: func(x *exchange) {
			if x.listed() && x.query() == "limit=100" {
				x.body = backwards(x.body)
			}
		}, rows: []string{"ids ascend in the list", "after gives the very next one"}},
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
			rows: []string{"limit=1 gives one"},
		},
		answers("fifty at most", 400, "invalid_parameter", query("limit=100&after=0"), "limit=100 is taken, and gives no more"),
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
		}, rows: []string{"status leaves out none of them"}},
		queryFault("status=lost is none", "status=lost", "", "an unknown status is 400"),
		queryFault("status= is none", "status=", "", "an empty status is 400"),
		queryFault("the first status", "status=sold&status=pending", "status=sold", "status given twice is 400"),
		answers("unknown parameters", 400, "invalid_parameter", func(x *exchange) bool { return strings.Contains(x.query(), "petstore-check") }, "unknown parameters are ignored"),
		queryFault("%zz is dropped", "limit=%zz", "", "a malformed query string is 400"),
		replaced("another code for a parameter", "invalid_parameter", "invalid_request", query("limit=0"), "the code of a refused parameter is invalid_parameter"),
		answers("406", 406, "not_acceptable", func(x *exchange) bool { return x.request.Header.Get("Accept") == "text/html" }, "Accept is not consulted"),
		header("HEAD without Content-Type", "Content-Type", "", func(x *exchange) bool { return x.method("HEAD") && x.query() == "limit=1" }, "HEAD is answered like GET"),
		answers("headers of 8 KiB", 431, "too_large", func(x *exchange) bool { return x.request.Header.Get("X-Petstore-Check") != "" }, "a header of 30 KiB is taken"),
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
	// link changes what the Link of a page says.
	link := func(name string, change func(string) string, rows ...string) fault {
		return fault{name: name, rows: rows, after: func(x *exchange) {
			if value := x.header.Get("Link"); value != "" {
				x.header.Set("Link", change(value))
			}
		}}
	}
	shifted := func(name, pattern string, by int, rows ...string) fault {
		re := regexp.MustCompile(pattern)
		return fault{name: name, rows: rows, before: func(x *exchange) {
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
		answers("404 past the end", 404, "not_found", func(x *exchange) bool { return x.query() == "after="+maxInt }, "past the end the list is []"),
		answers("after=0", 400, "invalid_parameter", func(x *exchange) bool { return x.query() == "after=0&limit=1" }, "after=0 is the beginning"),
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
		}, rows: []string{"a walk meets what was added before it"}},
		{name: "a walk without end", after: func(x *exchange) {
			if ofOwn.MatchString(x.query()) && x.header.Get("Link") == "" {
				x.header.Set("Link", "<"+x.request.RequestURI+`>; rel="next"`)
			}
		}, rows: []string{"a walk comes to an end"}},
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
		}, rows: []string{"an animal is 200", "what was added can be fetched at once"}},
		replaced("another name", `"name":"`, `"name":"Mr `, fetched, "it is as in the list", "what was added can be fetched at once"),
		replaced("a float for an integer", `"categoryId":1,`, `"categoryId":1.0,`, fetched, "it has id, name and categoryId, of their types"),
		answers("digits in plain", 400, "invalid_parameter", func(x *exchange) bool { return strings.Contains(x.request.RequestURI, "/pets/%") }, "percent-encoded digits are digits"),
		answers("410", 410, "gone", at("/pets/"+maxInt), "an id that no animal has is 404", "HEAD of an error is answered like GET"),
		answers("400 for 0", 400, "invalid_parameter", at("/pets/0"), "0 and negative ids are 404"),
		answers("404 for 1.5", 404, "not_found", at("/pets/1.5"), "an id that is no integer is 400"),
		answers("404 past int64", 404, "not_found", at("/pets/9223372036854775808"), "an id past int64 is 400"),
		header("HEAD without Sunset", "Sunset", "", func(x *exchange) bool { return x.method("HEAD") && x.fetched() }, "HEAD of an animal is answered like GET"),
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
		answers("a redirect to the list", 301, "moved", func(x *exchange) bool { return x.path() == "/pets/" && x.keyed() }, "an unknown path is 404"),
		answers("401 for unknown paths", 401, "unauthorized", func(x *exchange) bool { return !x.keyed() && x.status == 404 }, "an unknown path is 404 without a key too"),
		answers("404 for other methods", 404, "not_found", func(x *exchange) bool { return x.method("PROPFIND") && x.path() == "/pets/1" }, "another method than the path has is 405"),
		answers("401 for other methods", 401, "unauthorized", func(x *exchange) bool { return !x.keyed() && x.status == 405 }, "another method is 405 without a key too"),
		header("no Allow", "Allow", "", status(405), "405 says in Allow what there is"),
		header("some of Allow", "Allow", "GET", status(405), "405 says in Allow what there is"),
		{name: "animals can be removed", after: func(x *exchange) {
			if x.method("DELETE") {
				x.status, x.body = http.StatusNoContent, ""
			}
		}, rows: []string{"an animal cannot be changed or removed: 405"}},
		{name: "200 for OPTIONS", after: func(x *exchange) {
			if x.method("OPTIONS") {
				x.status = 200
			}
		}, rows: []string{"OPTIONS is 204 and needs no key"}},
		header("OPTIONS without Allow", "Allow", "", of("OPTIONS"), "OPTIONS says in Allow what there is"),
		{name: "HEAD never fails", after: func(x *exchange) {
			if x.method("HEAD") && x.query() == "limit=0" {
				x.status = 200
			}
		}, rows: []string{"HEAD of an error is answered like GET"}},
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
		}, rows: []string{"a client's X-Request-Id is kept"}},
		{name: "ids always kept", after: func(x *exchange) {
			if own(x) {
				x.header.Set("X-Request-Id", x.request.Header.Get("X-Request-Id"))
			}
		}, rows: []string{"one that is none is replaced", "every answer has an X-Request-Id"}},
		header("one id for all", "X-Request-Id", "always", func(x *exchange) bool { return !own(x) }, "two requests get two ids"),
		header("no id of errors", "X-Request-Id", "", status(404), "every answer has an X-Request-Id"),
		header("sniffing", "X-Content-Type-Options", "", status(401), "every answer has X-Content-Type-Options: nosniff"),
		header("storing", "Cache-Control", "max-age=60", (*exchange).listed, "every answer has Cache-Control: no-store", "HEAD is answered like GET"),
		header("text/json", "Content-Type", "text/json", (*exchange).added, "every success with a body is application/json"),
		header("errors in text", "Content-Type", "text/plain", status(405), "every error is application/json"),
		replaced("errors without a message", `"message"`, `"detail"`, status(404), "every error has code, message and status, of their types"),
		{name: "the status as a string", after: func(x *exchange) {
			x.body = regexp.MustCompile(`"status":(\d+)`).ReplaceAllString(x.body, `"status":"$1"`)
		}, rows: []string{"every error has code, message and status, of their types"}},
		replaced("another status in the body", `"status":415`, `"status":400`, status(415), "status in the body is that of the answer"),
		replaced("codes in camel case", "method_not_allowed", "methodNotAllowed", status(405), "every code is lower_snake_case", "every code is the one listed for the status"),
		replaced("another code", "not_found", "missing", status(404), "every code is the one listed for the status"),
		{name: "no words", after: func(x *exchange) {
			if x.status == 405 {
				x.body = `{"code":"method_not_allowed","message":"","status":405}`
			}
		}, rows: []string{"every message is one line for a person"}},
		answers("500", 500, "internal", func(x *exchange) bool { return strings.Contains(x.sent, "[[[[") }, "nesting past 10,000 levels is 400", "no answer is 5xx, unless it is 503"),
		answers("503 without Retry-After", 503, "unavailable", func(x *exchange) bool { return x.path() == "/pets/1e1" }, "an id that is no integer is 400", "every 503 and 429 has Retry-After"),
	}
}
