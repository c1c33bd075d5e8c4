package edge

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// wantRefusal sends a request that must be refused with exactly this sentence.
func (r *recorder) wantRefusal(t *testing.T, code, message, line, body string, header ...string) {
	t.Helper()
	w := r.send(t, line, body, header...)
	var got struct{ Code, Message string }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%s %s: got %d %q, want an Error", line, body, w.Code, w.Body)
	}
	if w.Code != 400 || got.Code != code || got.Message != message {
		t.Errorf("%s %s: got %d %s, %q, want 400 %s, %q", line, body, w.Code, got.Code, got.Message, code, message)
	}
	if r.request != nil {
		t.Errorf("%s %s: got to the method, want it refused before", line, body)
	}
}

func TestAPropertyThatBreaksARuleIsNamedWithTheRule(t *testing.T) {
	r := newRecorder(t)
	for property, message := range map[string]string{
		`"note":"abcdef"`:               "[0].note must be at most 5 characters",
		`"note":"a"`:                    "[0].note must be at least 2 characters",
		`"note":"AB"`:                   "[0].note must match the pattern ^[a-z]*$",
		`"note":null`:                   "[0].note must be a string",
		`"note":7`:                      "[0].note must be a string",
		`"code":"abc"`:                  "[0].code must be three capital letters",
		`"day":"2026-02-30"`:            "[0].day must be a date as RFC 3339 has it",
		`"day":"2026-2-3"`:              "[0].day must be a date as RFC 3339 has it",
		`"day":"2026-02-03T00:00:00Z"`:  "[0].day must be a date as RFC 3339 has it",
		`"when":"2026-02-03"`:           "[0].when must be a date-time as RFC 3339 has it",
		`"when":"2026-02-03T0:00:00Z"`:  "[0].when must be a date-time as RFC 3339 has it",
		`"when":"2026-02-30T00:00:00Z"`: "[0].when must be a date-time as RFC 3339 has it",
		// Go has no leap seconds.
		`"when":"2016-12-31T23:59:60Z"`:   "[0].when must be a date-time as RFC 3339 has it",
		`"when":"2026-02-03T00:00:00"`:    "[0].when must be a date-time as RFC 3339 has it",
		`"when":"2026-02-03T00:00:00,5Z"`: "[0].when must be a date-time as RFC 3339 has it",
		`"amount":7`:                      "[0].amount must be a multiple of 5",
		`"amount":0`:                      "[0].amount must be between 1 and 1000",
		`"amount":1005`:                   "[0].amount must be between 1 and 1000",
		`"amount":5.0`:                    "[0].amount must be an integer between 1 and 1000",
		`"amount":1e2`:                    "[0].amount must be an integer between 1 and 1000",
		`"amount":"5"`:                    "[0].amount must be an integer between 1 and 1000",
		`"amount":9223372036854775808`:    "[0].amount must be an integer between 1 and 1000",
		`"price":0`:                       "[0].price must be greater than 0",
		`"price":0.001`:                   "[0].price must be a multiple of 0.01",
		`"price":1e400`:                   "[0].price must be a number that 64 bits can hold (IEEE 754)",
		`"price":"1"`:                     "[0].price must be a number greater than 0",
		`"ratio":1`:                       "[0].ratio must be less than 1",
		`"ratio":-1e39`:                   "[0].ratio must be a number that 32 bits can hold (IEEE 754)",
		`"mail":"a"`:                      "[0].mail must be an email address as RFC 5322 has it",
		`"mail":"A <a@example.com>"`:      "[0].mail must be an email address as RFC 5322 has it",
		`"id2":"6f9619ff8b86d011b42d00cf4fc964ff"`: "[0].id2 must be a UUID as RFC 9562 has it",
		`"data":"_-"`:              "[0].data must be base64 as RFC 4648, section 4, has it",
		`"data":"QUI"`:             "[0].data must be base64 as RFC 4648, section 4, has it",
		`"flag":"true"`:            "[0].flag must be true or false",
		`"yes":false`:              "[0].yes must be true",
		`"tags":[]`:                "[0].tags must have at least 1 item",
		`"tags":["a","b","c","d"]`: "[0].tags must have at most 3 items",
		`"tags":["a","b","a"]`:     "[0].tags must not have the same item twice",
		`"tags":["a","abcd"]`:      "[0].tags[1] must be at most 3 characters",
		`"tags":"a"`:               "[0].tags must be an array",
		`"grid":[[1],[2,"3"]]`:     "[0].grid[1][1] must be an integer",
		`"colour":"blue"`:          "[0].colour must be one of red, green, light blue",
		`"level":4`:                "[0].level must be one of 1, 2, 3",
		`"level":"1"`:              "[0].level must be one of 1, 2, 3",
		`"share":0.75`:             "[0].share must be one of 0.5, 1",
		`"part":{}`:                "[0].part.name is required",
		`"part":[]`:                "[0].part must be an object",
		`"part":{"name":"a","parts":[{"name":"b"},{"name":""}]}`: "[0].part.parts[1].name must be at least 1 character",
		`"inline":{"x":null}`: "[0].inline.x must be an integer",
		`"id":1`:              "[0].id is set by the service and must not be sent",
	} {
		order := `{"when":"2026-11-21T10:00:00Z","amount":5,` + property + `}`
		name, _, _ := strings.Cut(property, ":")
		switch name {
		case `"when"`:
			order = `{"amount":5,` + property + `}`
		case `"amount"`:
			order = `{"when":"2026-11-21T10:00:00Z",` + property + `}`
		}
		r.wantRefusal(t, "invalid_body", message, "POST /store/orders", "["+order+"]")
	}
}

func TestABodyThatBreaksARuleIsNamedWithTheRule(t *testing.T) {
	r := newRecorder(t)
	const order = `{"when":"2026-11-21T10:00:00Z","amount":5}`
	for _, c := range []struct{ line, body, message string }{
		{"POST /store/orders", `[]`, "the body must have at least 1 item"},
		{"POST /store/orders", `[` + order + `,` + order + `,` + order + `]`, "the body must have at most 2 items"},
		{"POST /store/orders", order, "the body must be an array"},
		{"POST /store/orders", `null`, "the body must be an array"},
		{"POST /store/orders", `[` + order + `,null]`, "[1] must be an object"},
		{"POST /store/orders", `[` + order + `,{"amount":5}]`, "[1].when is required"},
		{"POST /store/orders", ` `, "a body is required"},
		{"PUT /whole", `-6`, "the body must be between -5 and 9223372036854775807"},
		{"PUT /whole", `"1"`, "the body must be an integer between -5 and 9223372036854775807"},
		{"PUT /text", `"blue"`, "the body must be one of red, green, light blue"},
		{"PATCH /crates/1", `{"name":"abcdef"}`, "name must be at most 5 characters"},
		{"PATCH /crates/1", `{"size":0}`, "size must be between 1 and 9223372036854775807"},
		{"PATCH /crates/1", `{"part":{"size":1}}`, "part.name is required"},
		{"PATCH /crates/1", `{"colour":"green"}`, "colour must be one of red, null"},
		{"POST /maps", `{"none":{"b":1}}`, "none.b is not among the properties that are allowed here"},
		{"POST /maps", `{"none":{"` + strings.Repeat("b", 100) + `":1}}`, "none.a property is not among the properties that are allowed here"},
		{"POST /maps", `{"counts":{}}`, "counts must have at least 1 property"},
		{"POST /maps", `{"counts":{"a":1,"b":2,"c":3}}`, "counts must have at most 2 properties"},
		{"POST /maps", `{"counts":{"a":1.5}}`, "counts.a must be an integer between -9223372036854775808 and 9223372036854775807"},
		{"POST /maps", `{"parts":{"a":{}}}`, "parts.a.name is required"},
		{"POST /maps", `{"mixed":{"name":"n","x":"1"}}`, "mixed.x must be an integer"},
		{"POST /maps", `{"free":{"x":[1e400]}}`, "free.x[0] must be a number that 64 bits can hold (IEEE 754)"},
		{"POST /maps", `{"anything":1e400}`, "anything must be a number that 64 bits can hold (IEEE 754)"},
		{"POST /one", `{}`, "kind is required"},
		{"POST /one", `{"kind":"cow"}`, "kind must be one of cat, dog"},
		{"POST /one", `{"kind":7}`, "kind must be one of cat, dog"},
		{"POST /one", `{"kind":"cat","lives":10}`, "lives must be at most 9"},
		{"POST /one", `{"kind":"dog","bark":true,"friend":{"kind":"cat"}}`, "friend.lives is required"},
		{"POST /one", `7`, "the body must be an object"},
		{"POST /one", `null`, "the body must be an object"},
		{"POST /one", `{"kind":null}`, "kind must be one of cat, dog"},
		{"POST /one", `{"kind":"dog","bark":true,"friend":null}`, "friend must be an object"},
		{"POST /any", `null`, "the body must not be null"},
		{"POST /any", `7`, "the body must be at least one of ByMail, ByPhone"},
		{"POST /any", `{"mail":"a","phone":"b"}`, "the body must be at least one of ByMail, ByPhone"},
		{"POST /all", `{"kind":"dog"}`, "bark is required"},
		{"POST /all", `{"bark":true}`, "kind is required"},
		{"POST /all", `{"kind":"dog","bark":true,"name":"abcdef"}`, "name must be at most 5 characters"},
		{"POST /all", `null`, "the body must be an object"},
		{"POST /implied", `{"kind":"Beside","size":1,"id":1}`, "id is set by the service and must not be sent"},
		{"POST /implied", `{"kind":"beside","size":1}`, "kind must be one of Beside, Cat"},
		{"POST /inline", `{"host":"a_b"}`, "host must be a host name as RFC 1123 has it"},
		{"POST /inline", `{"host":"a","v4":"::1"}`, "v4 must be an IPv4 address"},
		{"POST /inline", `{"host":"a","v6":"1.2.3.4"}`, "v6 must be an IPv6 address as RFC 4291 has it"},
		{"POST /inline", `{"host":"a","uri":"x"}`, "uri must be a URI as RFC 3986 has it"},
		{"POST /inline", `{"host":"a","ref":"%zz"}`, "ref must be a URI reference as RFC 3986 has it"},
		{"POST /inline", `{"host":"a","any":[1,{"b":3}]}`, `any must be one of 1, a, true, [1,{"b":2}], null`},
	} {
		r.wantRefusal(t, "invalid_body", c.message, c.line, c.body)
	}
}

// nested returns a creature of that many levels: each dog has a friend, the last a cat.
func nested(levels int) string {
	return strings.Repeat(`{"kind":"dog","bark":true,"friend":`, levels-1) + `{"kind":"cat","lives":1}` + strings.Repeat("}", levels-1)
}

func TestAUnionThatContainsItselfHasAMostLevels(t *testing.T) {
	r := newRecorder(t)
	if w := r.send(t, "POST /one", nested(100)); w.Code != 204 {
		t.Errorf("100 levels: got %d %s, want 204", w.Code, w.Body)
	}
	r.wantRefusal(t, "invalid_body", "the body must not be nested deeper than 100 levels", "POST /one", nested(101))
	r.wantRefusal(t, "invalid_body", "the body must not be nested deeper than 100 levels", "POST /one", nested(1800))
	place := strings.TrimPrefix(strings.Repeat(".friend", 99), ".")
	r.wantRefusal(t, "invalid_body", place+".lives must be at most 9", "POST /one", strings.Replace(nested(100), `"lives":1`, `"lives":10`, 1))
	if w := r.send(t, "POST /maps", `{"free":{"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}}`); w.Code != 204 {
		t.Errorf("5,000 levels of any value: got %d %s, want 204", w.Code, w.Body)
	}
}

// refusal is the target of a request, and the sentence that refuses it.
type refusal struct{ line, message string }

// wantRefusedParameters sends each request and compares the sentence.
func wantRefusedParameters(t *testing.T, refusals []refusal) {
	t.Helper()
	r := newRecorder(t)
	for _, c := range refusals {
		path, query, found := strings.Cut(c.line, "?")
		line := path
		if found {
			line += "?" + strings.NewReplacer(`"`, "%22", `{`, "%7B", `}`, "%7D", "|", "%7C", "<", "%3C", ">", "%3E").Replace(query)
		}
		if _, err := url.Parse(line[len("GET "):]); err != nil {
			t.Fatal(err)
		}
		r.wantRefusal(t, "invalid_parameter", c.message, line, "")
	}
}

func TestAPathParameterThatBreaksARuleIsNamedWithTheRule(t *testing.T) {
	const path, uuid = "GET /path/simple/", "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
	wantRefusedParameters(t, []refusal{
		{path + "w/red/1/2024-02-29/" + uuid, "word must be at least 2 characters"},
		{path + "wx/red/1/2024-02-29/" + uuid, "word must match the pattern ^[^x]*$"},
		{path + "w%FF/red/1/2024-02-29/" + uuid, "word must be valid UTF-8"},
		{path + "ww/red,blue/1/2024-02-29/" + uuid, "words[1] must be one of red, green, light blue"},
		{path + "ww/red,/1/2024-02-29/" + uuid, "words[1] must not be empty"},
		{path + "ww/red,red,red,red/1/2024-02-29/" + uuid, "words must have at most 3 items"},
		{path + "ww/red/2147483648/2024-02-29/" + uuid, "whole must be an integer between -2147483648 and 2147483647"},
		{path + "ww/red/+1/2024-02-29/" + uuid, "whole must be an integer between -2147483648 and 2147483647"},
		{path + "ww/red/1/2026-02-30/" + uuid, "day must be a date as RFC 3339 has it"},
		{path + "ww/red/1/2024-02-29/x", "id must be a UUID as RFC 9562 has it"},
	})
}

func TestAScalarParameterThatBreaksARuleIsNamedWithTheRule(t *testing.T) {
	const uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
	wantRefusedParameters(t, []refusal{
		{"GET /query/scalars?page=21", "page must be at most 20"},
		{"GET /query/scalars?shared=1.0", "shared must be an integer"},
		{"GET /query/scalars?text=123456", "text must be at most 5 characters"},
		{"GET /query/scalars?text=%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9", "text must be at most 5 characters"},
		{"GET /query/scalars?text=%FF", "text must be valid UTF-8"},
		{"GET /query/scalars?text=", "text must not be empty"},
		{"GET /query/scalars?text=a&text=a", "text must be given only once"},
		{"GET /query/scalars?int32=7", "int32 must be a multiple of 5"},
		{"GET /query/scalars?int32=%2B5", "int32 must be an integer between -2147483648 and 2147483647"},
		{"GET /query/scalars?int64=05", "int64 must be an integer between -9223372036854775808 and 9223372036854775807"},
		{"GET /query/scalars?number=0", "number must be greater than 0 and less than 1"},
		{"GET /query/scalars?number=1", "number must be greater than 0 and less than 1"},
		{"GET /query/scalars?number=.5", "number must be a number greater than 0 and less than 1"},
		{"GET /query/scalars?float=0x1p2", "float must be a number"},
		{"GET /query/scalars?float=Inf", "float must be a number"},
		{"GET /query/scalars?float=1e39", "float must be a number that 32 bits can hold (IEEE 754)"},
		{"GET /query/scalars?double=0.001", "double must be a multiple of 0.01"},
		{"GET /query/scalars?double=1e999", "double must be a number that 64 bits can hold (IEEE 754)"},
		{"GET /query/scalars?flag=1", "flag must be true or false"},
		{"GET /query/scalars?flag=TRUE", "flag must be true or false"},
		{"GET /query/scalars?date=2026-02-30", "date must be a date as RFC 3339 has it"},
		{"GET /query/scalars?dateTime=2026-02-03", "dateTime must be a date-time as RFC 3339 has it"},
		{"GET /query/scalars?uuid=" + strings.ReplaceAll(uuid, "-", ""), "uuid must be a UUID as RFC 9562 has it"},
		{"GET /query/scalars?email=Bob+<a@example.com>", "email must be an email address as RFC 5322 has it"},
		{"GET /query/scalars?byte=_w==", "byte must be base64 as RFC 4648, section 4, has it"},
		{"GET /query/scalars?level=01", "level must be one of 1, 2, 3"},
		{"GET /query/scalars?share=0.6", "share must be one of 0.5, 1"},
		{"GET /query/scalars?all=blue", "all must be one of red, green, light blue"},
	})
}

func TestAnArrayParameterThatBreaksARuleIsNamedWithTheRule(t *testing.T) {
	wantRefusedParameters(t, []refusal{
		{"GET /query/arrays", "tags is required"},
		{"GET /query/arrays?tags=", "tags[0] must not be empty"},
		{"GET /query/arrays?tags=a", "tags[0] must be at least 2 characters"},
		{"GET /query/arrays?tags=aa&tags=bb&tags=cc&tags=dd", "tags must have at most 3 items"},
		{"GET /query/arrays?tags=aa&tags=aa", "tags must not have the same item twice"},
		{"GET /query/arrays?tags=aa&commas=1&commas=2", "commas must be given only once"},
		{"GET /query/arrays?tags=aa&commas=1,02", "commas[1] must be an integer at least 1"},
		{"GET /query/arrays?tags=aa&commas=1,0", "commas[1] must be at least 1"},
		{"GET /query/arrays?tags=aa&commas=1,,2", "commas[1] must not be empty"},
		{"GET /query/arrays?tags=aa&commas=", "commas must not be empty"},
		{"GET /query/arrays?tags=aa&colours=red,blue", "colours[1] must be one of red, green, light blue"},
		{"GET /query/arrays?tags=aa&days=2024-02-29&days=2026-02-30", "days[1] must be a date as RFC 3339 has it"},
		{"GET /query/arrays?tags=aa&flags[]=true&flags[]=yes", "flags[][1] must be true or false"},
	})
}

func TestAnObjectParameterThatBreaksARuleIsNamedWithTheRule(t *testing.T) {
	wantRefusedParameters(t, []refusal{
		{"GET /query/objects?filter[least]=1", "filter[colour] is required"},
		{"GET /query/objects?filter[colour]=red&filter[least]=-1", "filter[least] must be between 0 and 9223372036854775807"},
		{"GET /query/objects?filter[colour]=red&filter[colour]=red", "filter[colour] must be given only once"},
		{"GET /query/objects?filter[colour]=", "filter[colour] must not be empty"},
		{"GET /query/objects?filter[colour]=red&filter[since]=2026-02-30", "filter[since] must be a date as RFC 3339 has it"},
	})
}

func TestAPlusThatWasSentAsASpaceIsNamed(t *testing.T) {
	const hint = "; + in a query string is a space, and must be sent as %2B"
	const wrong = " must be a date-time as RFC 3339 has it"
	wantRefusedParameters(t, []refusal{
		{"GET /query/scalars?dateTime=2026-11-21T10:00:00+02:00", "dateTime" + wrong + hint},
		{"GET /query/scalars?byte=+/8=", "byte must be base64 as RFC 4648, section 4, has it" + hint},
		{"GET /query/arrays?tags=aa&moments=2026-11-21T10:00:00Z&moments=2026-11-21T10:00:00+02:00", "moments[1]" + wrong + hint},
		{"GET /query/objects?filter[colour]=red&filter[until]=2026-11-21T10:00:00+02:00", "filter[until]" + wrong + hint},
		{"GET /query/scalars?dateTime=2026-11-31T10:00:00+02:00", "dateTime" + wrong}, // no such day
		{"GET /query/scalars?text=a+b+c+d", "text must be at most 5 characters"},
		{"GET /query/scalars?int64=+5", "int64 must be an integer between -9223372036854775808 and 9223372036854775807"},
	})
	newRecorder(t).wantRefusal(t, "invalid_request", "X-Moment"+wrong, "GET /headers", "", "X-Whole: 1", "X-Moment: 2026-11-21T10:00:00 02:00")
}

func TestAHeaderThatBreaksARuleIsNamedWithTheRule(t *testing.T) {
	r := newRecorder(t)
	for header, message := range map[string]string{
		"X-Other: 1":           "X-Whole is required",
		"X-Whole: 0":           "X-Whole must be at least 1",
		"X-Whole: 1.0":         "X-Whole must be an integer at least 1",
		"X-Whole: ":            "X-Whole must not be empty",
		"X-Texts: a,bcde":      "X-Texts[1] must be at most 3 characters",
		"X-Wholes: 1, 2":       "X-Wholes[1] must be an integer",
		"X-Day: 2026-02-30":    "X-Day must be a date as RFC 3339 has it",
		"X-Moment: 2026-02-03": "X-Moment must be a date-time as RFC 3339 has it",
		"X-Id: x":              "X-Id must be a UUID as RFC 9562 has it",
		"X-Bytes: _w==":        "X-Bytes must be base64 as RFC 4648, section 4, has it",
		"X-Flag: yes":          "X-Flag must be true or false",
	} {
		headers := []string{header}
		if !strings.HasPrefix(header, "X-Whole:") && !strings.HasPrefix(header, "X-Other") {
			headers = append(headers, "X-Whole: 1")
		}
		r.wantRefusal(t, "invalid_request", message, "GET /headers", "", headers...)
	}
	r.wantRefusal(t, "invalid_request", "X-Whole must be given only once", "GET /headers", "", "X-Whole: 1", "X-Whole: 1")
	r.wantRefusal(t, "invalid_request", "X-Reason must be at most 10 characters", "DELETE /crates/1", "", "X-Reason: eleven char")
}
