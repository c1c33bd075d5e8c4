package edge

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/edge/constructs"
)

// nasty are texts that some reader takes for another value than is meant.
var nasty = []string{
	"0", "-0", "+1", "01", "1.0", "1e2", "1e400", "-1", "7", "5", "9223372036854775807", "9223372036854775808", "1_0", "0x1", "Inf", "NaN",
	"true", "TRUE", "1,2", "1, 2", "a|b", "a b", ".1", ";x=1", "null", "",
	"2024-02-29", "2026-02-30", "0000-01-01", "2024-02-29T00:00:00Z", "2024-02-29T0:00:00Z", "2024-02-29t00:00:00z", "2016-12-31T23:59:60Z",
	"6f9619ff-8b86-d011-b42d-00cf4fc964ff", "{6f9619ff-8b86-d011-b42d-00cf4fc964ff}", "urn:uuid:6f9619ff-8b86-d011-b42d-00cf4fc964ff",
	"a@example.com", "A <a@example.com>", "+/8=", "_-8=", "QUI", "red", "light blue", "cat", "dog", "é", "\xff", "\x00", "%", "[", "]", "=", "&", `"`, `\`,
	`{"name":"a"}`, `{"name":"a","NAME":1}`, `{"name":null}`, `{`, `[]`, `{"size":1e2,"name":"b"}`,
}

// TestNoValueIsAllowedThatTheGeneratedCodeCannotBind sends values at random for
// every parameter: each is refused with a sentence or reaches the method.
func TestNoValueIsAllowedThatTheGeneratedCodeCannotBind(t *testing.T) {
	doc, err := loadDocument(constructs.Document)
	if err != nil {
		t.Fatal(err)
	}
	operations, err := operationsOf(doc, "", DocsPath)
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t)
	reached := 0
	send := func(t2 *rapid.T) {
		op := rapid.SampledFrom(operations).Draw(t2, "operation")
		if op.body != nil {
			return // TestNoBodyIsAllowedThatTheGeneratedCodeCannotBind draws those
		}
		target := op.path
		query, header := url.Values{}, []string{}
		for _, p := range op.parameters {
			value := rapid.SampledFrom(nasty).Draw(t2, p.name)
			switch {
			case p.in == "path":
				target = strings.Replace(target, ":"+p.name, url.PathEscape(value), 1)
			case p.in == "header":
				if !strings.ContainsAny(value, "\x00") {
					header = append(header, p.name+": "+value)
				}
			case p.kind == "object":
				for _, name := range p.properties {
					query[p.propertyKey(name)] = rapid.SliceOfN(rapid.SampledFrom(nasty), 0, 2).Draw(t2, name)
				}
			default:
				query[p.name] = rapid.SliceOfN(rapid.SampledFrom(nasty), 0, 2).Draw(t2, p.name+"s")
			}
			if rapid.Bool().Draw(t2, "absent") && p.in == "query" {
				delete(query, p.name)
			}
		}
		w := r.send(t, op.Method+" "+target+"?"+query.Encode(), "", header...)
		if r.request != nil {
			reached++
		}
		if w.Code >= 500 {
			t2.Fatalf("%s %s?%s %q: got %d %s, want it refused", op.Method, target, query.Encode(), header, w.Code, w.Body)
		}
	}
	rapid.Check(t, func(t2 *rapid.T) {
		for range 20 { // few of them are valid in every part
			send(t2)
		}
	})
	if reached == 0 {
		t.Error("random requests: got none to a method, want some")
	}
}

// TestNoBodyIsAllowedThatTheGeneratedCodeCannotBind does the same with bodies
// made of the texts.
func TestNoBodyIsAllowedThatTheGeneratedCodeCannotBind(t *testing.T) {
	r := newRecorder(t)
	bodies := []struct{ line, before, after string }{
		{"POST /store/orders", `[{"when":"2024-02-29T00:00:00Z","amount":5,`, `}]`},
		{"PATCH /crates/1", `{`, `}`},
		{"POST /maps", `{`, `}`},
		{"POST /one", `{"kind":"cat",`, `}`},
		{"POST /one", `{"kind":"dog","bark":true,`, `}`},
		{"POST /any", `{"phone":"1",`, `}`},
		{"POST /implied", `{"kind":"Beside","size":1,`, `}`},
		{"POST /inline", `{"host":"a",`, `}`},
	}
	names := []string{
		"when", "amount", "day", "note", "price", "ratio", "mail", "id2", "data", "flag", "tags", "grid", "colour", "level", "share", "yes", "part", "inline",
		"name", "NAME", "size", "list", "hole", "free", "none", "counts", "parts", "mixed", "anything", "lives", "bark", "friend", "kind", "phone", "extra", "v4", "v6", "uri", "guest", "any",
	}
	values := []string{
		"null", "true", "0", "-0", "1", "5", "1.0", "1e2", "1e400", "9223372036854775807", "9223372036854775808", "0.1", "1e39", `"a"`, `""`, `"2024-02-29"`, `"2026-02-30"`,
		`"2024-02-29T00:00:00Z"`, `"a@example.com"`, `"+/8="`, `"6f9619ff-8b86-d011-b42d-00cf4fc964ff"`, `"red"`, `[]`, `[1]`, `[1,null]`, `["a"]`, `[[1],[]]`, `{}`, `{"a":1}`, `{"x":1}`,
		`{"name":"a"}`, `{"name":"a","NAME":2,"part":{"name":"b","Name":null}}`, `{"kind":"cat","lives":1}`, `{"kind":"dog","bark":1}`, `{"a":{"name":"n","size":1.5}}`, `[{"name":"a","parts":[null]}]`,
	}
	rapid.Check(t, func(t2 *rapid.T) {
		body := rapid.SampledFrom(bodies).Draw(t2, "body")
		name, value := rapid.SampledFrom(names).Draw(t2, "name"), rapid.SampledFrom(values).Draw(t2, "value")
		text := body.before + `"` + name + `":` + value + body.after
		if w := r.send(t, body.line, text); w.Code >= 500 {
			t2.Fatalf("%s %s: got %d %s, want it refused", body.line, text, w.Code, w.Body)
		}
	})
}
