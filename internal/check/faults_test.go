package check_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// fault is a way to be wrong, and the rules that must say so: no others may.
type fault struct {
	name          string
	before, after func(*exchange)
	rules         []string
}

// maxInt is an id that no animal has.
const maxInt = "9223372036854775807"

// responds is a fault by which some requests get another error.
func responds(name string, status int, code string, when func(*exchange) bool, rules ...string) fault {
	return fault{name: name, rules: rules, after: func(x *exchange) {
		if when(x) {
			x.fails(status, code)
		}
	}}
}

// queryFault takes one query string for another.
func queryFault(name, query, instead string, rules ...string) fault {
	return fault{name: name, rules: rules, before: func(x *exchange) {
		if x.query() == query {
			x.setQuery(instead)
		}
	}}
}

// replaced changes a text in the responses that when selects.
func replaced(name, text, instead string, when func(*exchange) bool, rules ...string) fault {
	return fault{name: name, rules: rules, after: func(x *exchange) {
		if when(x) {
			x.body = strings.ReplaceAll(x.body, text, instead)
		}
	}}
}

// header sets a header of the responses that when selects, or takes it away.
func header(name, field, value string, when func(*exchange) bool, rules ...string) fault {
	return fault{name: name, rules: rules, after: func(x *exchange) {
		switch {
		case !when(x):
		case value == "":
			x.header.Del(field)
		default:
			x.header.Set(field, value)
		}
	}}
}

// bodyFault responds with 409 to a body that must be 400.
func bodyFault(text, rule string) fault {
	return responds("409 for "+text, 409, "conflict", func(x *exchange) bool {
		return x.method("POST") && x.keyed() && strings.Contains(x.sent, text)
	}, rule)
}

func credentials(x *exchange) string { return x.request.Header.Get("Authorization") }

func status(code int) func(*exchange) bool {
	return func(x *exchange) bool { return x.status == code }
}

func authenticationFaults() []fault {
	const token = "Bearer " + key
	isList := func(x *exchange) bool { return x.path() == "/pets" && x.query() == "" && x.method("GET") }
	wrongKey := func(x *exchange) bool { return strings.Contains(credentials(x), "which-is-none") }
	become := func(name string, when func(*exchange) bool, rules ...string) fault {
		return fault{name: name, rules: rules, before: func(x *exchange) {
			if when(x) {
				x.request.Header["Authorization"] = []string{token}
			}
		}}
	}
	return []fault{
		responds("403 without a key", 403, "forbidden", func(x *exchange) bool {
			return isList(x) && !x.keyed() && x.status == 401 && len(x.request.Header["Authorization"]) == 0
		},
			"a request without a key is 401", "every 401 has the same body"),
		header("no challenge", "WWW-Authenticate", "", status(401),
			"the challenge to no key is Bearer, with a realm", "the challenge to no key names no error", `the challenge to a wrong key: error="invalid_token"`),
		header("no realm", "WWW-Authenticate", "Bearer", func(x *exchange) bool { return x.status == 401 && !x.keyed() },
			"the challenge to no key is Bearer, with a realm"),
		header("always invalid_token", "WWW-Authenticate", `Bearer realm="petstore", error="invalid_token"`, status(401),
			"the challenge to no key names no error"),
		header("never invalid_token", "WWW-Authenticate", `Bearer realm="petstore"`, status(401),
			`the challenge to a wrong key: error="invalid_token"`),
		responds("403 for a wrong key", 403, "forbidden", func(x *exchange) bool { return wrongKey(x) && x.path() != "/pets" },
			"a wrong key is 401"),
		replaced("a 401 that tells why", "a valid API key", "a Bearer key", func(x *exchange) bool { return strings.HasPrefix(credentials(x), "Basic eDp5") },
			"every 401 has the same body"),
		responds("bearer with a small b", 401, "unauthorized", func(x *exchange) bool { return strings.HasPrefix(credentials(x), "bearer ") },
			"the scheme's case does not matter"),
		become("Token for Bearer", func(x *exchange) bool { return strings.HasPrefix(credentials(x), "Token ") }, "another scheme is 401"),
		become("the empty key", func(x *exchange) bool { return credentials(x) == "Bearer" }, "a scheme without a key is 401"),
		become("the first of two credentials", func(x *exchange) bool { return len(x.request.Header["Authorization"]) == 2 }, "two Authorization headers are 401"),
		become("a key in the URL", func(x *exchange) bool { return x.query() == "api_key="+key }, "a key in the URL is no key"),
		responds("400 before 401", 400, "invalid_parameter", func(x *exchange) bool { return !x.keyed() && x.query() == "limit=0" }, "401 comes before 400"),
		responds("403 for a wrong key of a create", 403, "forbidden", func(x *exchange) bool { return wrongKey(x) && x.method("POST") },
			"adding without a key or with a wrong one is 401"),
		responds("415 before 401", 415, "unsupported_media_type", func(x *exchange) bool {
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
			rules: []string{
				"a name and a categoryId are enough: 201", "unknown properties are ignored", "Application/JSON; charset=utf-8 is JSON", "a body of 64 KiB is taken",
				"the same Idempotency-Key and animal: the same 201", "a key of 255 characters is taken",
			},
		},
		{name: "ids as strings", after: func(x *exchange) { x.body = regexp.MustCompile(`"id":(\d+)`).ReplaceAllString(x.body, `"id":"$1"`) }, rules: []string{
			"id, name and categoryId come back, of their types", "each has id, name and categoryId, of their types", "it has id, name and categoryId, of their types",
		}},
		replaced("a sign lost", `"categoryId":-12`, `"categoryId":12`, added, "the response has what was sent"),
		{
			name: "another default",
			before: func(x *exchange) {
				if x.method("POST") && !strings.Contains(x.sent, "status") && strings.HasSuffix(x.sent, `"categoryId":1}`) {
					x.sent = strings.TrimSuffix(x.sent, "}") + `,"status":"pending"}`
				}
			},
			rules: []string{"the status is available where none is given", "a default that is spelled out is the same animal"},
		},
		{name: "sold becomes pending", before: func(x *exchange) {
			if x.method("POST") {
				x.sent = strings.ReplaceAll(x.sent, `"status":"sold"}`, `"status":"pending"}`)
			}
		}, rules: []string{"each status is kept"}},
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
		replaced("names are cleaned", "\u2028", " ", added, "a name keeps quotes, backslashes, control characters"),
		replaced("names are cut", strings.Repeat(" and so on", 98), " and so on", (*exchange).listed, "a name of 1,000 characters is kept"),
		responds("an empty name", 400, "invalid_body", posted(`"name":""`), "an empty name is a name"),
		responds("no escapes in names", 400, "invalid_body", posted(`na\u006de`), "a name may be sent in escapes"),
		replaced("a categoryId of JavaScript", "9007199254740993", "9007199254740992", added, "a categoryId is kept exactly, past 2^53 too"),
		responds("no least int64", 400, "invalid_body", posted("-9223372036854775808"), "a categoryId may be any int64"),
		responds("unknown properties", 400, "invalid_body", posted(`"tags"`), "unknown properties are ignored"),
		{name: "preferences are not known", before: func(x *exchange) { x.request.Header.Del("Prefer") }, rules: []string{
			"strict handling: an unknown parameter is 400", "strict handling: a success says that it was applied",
			"strict handling: an unknown property is 400", "nothing that was refused has added an animal",
		}},
		header("strict handling in silence", "Preference-Applied", "", (*exchange).listed, "strict handling: a success says that it was applied"),
		responds("JSON in small letters", 415, "unsupported_media_type", func(x *exchange) bool {
			return strings.HasPrefix(x.request.Header.Get("Content-Type"), "Application/JSON")
		}, "Application/JSON; charset=utf-8 is JSON"),
		responds("60,000 bytes are enough", 413, "payload_too_large", func(x *exchange) bool { return x.keyed() && len(x.sent) > 60_000 }, "a body of 64 KiB is taken"),
	}
}

// idsPast2To53 moves all ids past the integers that JavaScript keeps whole.
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
		rules: []string{"the id is from 1 to 2^53-1", "each id is from 1 to 2^53-1"},
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
		rules: []string{"ids ascend", "without a key every request makes an animal"},
	}
}

// stale knows the id of the last animal.
func stale(name string, change func(x *exchange, last string), rules ...string) fault {
	var mu sync.Mutex
	last := "0"
	return fault{name: name, rules: rules, after: func(x *exchange) {
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
	exactly := func(body, rule string) fault {
		return responds("409 for exactly "+strconv.Quote(body), 409, "conflict", func(x *exchange) bool {
			return x.method("POST") && x.sent == body
		}, rule)
	}
	typed := func(x *exchange) string { return x.request.Header.Get("Content-Type") }
	coded := func(x *exchange) string { return x.request.Header.Get("Content-Encoding") }
	faults[0] = exactly("{}", "a missing name or categoryId is 400")
	faults[12] = responds("409 for a bracket behind", 409, "conflict", func(x *exchange) bool {
		return x.method("POST") && strings.HasPrefix(x.sent, "{") && strings.HasSuffix(x.sent, "}]")
	}, "anything behind the JSON is 400")
	return append(
		faults,
		exactly(" ", "an empty body is 400"),
		exactly("[]", "JSON that is no object is 400"),
		fault{name: "the last of two keys counts", before: func(x *exchange) {
			x.sent = strings.Replace(x.sent, `,"category\u0049d":1`, "", 1)
		}, rules: []string{"a duplicate key is 400", "nothing that was refused has added an animal"}},
		replaced("another code for a body", "invalid_body", "invalid_request", func(x *exchange) bool { return strings.Contains(x.sent, `:"x"`) },
			"the code of a refused body is invalid_body"),
		responds("400 for a media type", 400, "invalid_request", func(x *exchange) bool { return x.keyed() && typed(x) == "" && x.status == 415 },
			"another media type or none is 415"),
		header("no Accept", "Accept", "", status(415), "415 for a media type says Accept: application/json"),
		responds("400 for a coding", 400, "invalid_request", func(x *exchange) bool { return coded(x) == "br" }, "a compressed body is 415"),
		header("no Accept-Encoding", "Accept-Encoding", "", status(415), "415 for a coding says Accept-Encoding: identity"),
		responds("400 for a large body", 400, "invalid_body", status(413), "a body of more than 64 KiB is 413"),
	)
}

func retryingFaults() []fault {
	keyed := func(name string, change func(*exchange), rules ...string) fault {
		return fault{name: name, rules: rules, before: func(x *exchange) {
			if x.key() != "" && len(x.request.Header["Idempotency-Key"]) == 1 {
				change(x)
			}
		}}
	}
	setKey := func(x *exchange, key string) { x.request.Header.Set("Idempotency-Key", key) }
	refused := func(name string, when func(keys []string) bool, rules ...string) fault {
		return responds(name, 409, "conflict", func(x *exchange) bool {
			keys := x.request.Header["Idempotency-Key"]
			return len(keys) > 0 && when(keys)
		}, rules...)
	}
	return []fault{
		{name: "keys are not known", before: func(x *exchange) { x.request.Header.Del("Idempotency-Key") }, rules: []string{
			"the same Idempotency-Key and animal: the same 201", "a key in quotes is the same as without them", "a default that is spelled out is the same animal",
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
		responds("409 for a key used before", 409, "conflict", status(422), "the same key with another animal is 422"),
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
