package files_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/files"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/petstoretest"
)

// A row is accepted exactly where the service accepts it as a body, and means
// the same pet. These tests ask both.

const key = "an-api-key-for-the-tests"

// live is the whole service, as the program puts it together.
type live struct {
	handler http.Handler
	store   *memory.Store
}

func newLive(t testing.TB) live {
	t.Helper()
	s := memory.New()
	return live{petstoretest.Must(t, s, key), s}
}

// post sends the body and returns the pet it made, or what the service says of
// it.
func (l live) post(t rapid.TB, body []byte) (pet pets.Pet, refusal string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/pets", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	switch w.Code {
	case http.StatusCreated:
		id, err := strconv.ParseInt(strings.TrimPrefix(w.Header().Get("Location"), "/v1/pets/"), 10, 64)
		if err != nil {
			t.Fatalf("Location: %v", err)
		}
		if pet, err = l.store.Pet(r.Context(), id); err != nil {
			t.Fatalf("the pet of %.200q: %v", body, err)
		}
		return pet, ""
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return pet, w.Body.String()
	}
	t.Fatalf("POST of %.200q: got %d %s, want 201, 400 or 413", body, w.Code, w.Body)
	return pet, ""
}

// wantSame holds the one row of a file against the body it stands for.
func (l live) wantSame(t rapid.TB, format files.Format, file, body []byte) {
	t.Helper()
	read, fault := readAll(t, files.Reading{Format: format}, file)
	if fault != nil || len(read) != 1 {
		t.Fatalf("file %.200q: got %d rows, error %v, want one row", file, len(read), fault)
	}
	pet, refusal := l.post(t, body)
	row := read[0]
	switch {
	case (row.Err == nil) != (refusal == ""):
		t.Errorf("row %.200q: got %v, but the service says %q of %.200q", file, row.Err, refusal, body)
	case row.Err == nil && row.Pet.WithID(pet.ID) != pet:
		t.Errorf("row %.200q: got %.200v, but the service makes %.200v of it", file, row.Pet, pet)
	}
}

// bodies are some that went wrong somewhere once, or might.
var bodies = []string{
	`{"name":"Frank","categoryId":1}`,
	`{"name":"Frank","categoryId":1,"status":"sold"}`,
	` { "name" : "" , "categoryId" : -0 , "status" : "pending" } `,
	`{"name":"Frank","categoryId":9223372036854775807}`,
	`{"name":"Frank","categoryId":9007199254740993}`,
	`{"name":"Frank","categoryId":-9223372036854775808}`,
	`{"name":"Frank","categoryId":9223372036854775808}`,
	`{"name":"Frank","categoryId":7.0}`,
	`{"name":"Frank","categoryId":1e2}`,
	`{"name":"Frank","categoryId":1e400}`,
	`{"name":"Frank","categoryId":01}`,
	`{"name":"Frank","categoryId":+1}`,
	`{"name":"Frank","categoryId":"1"}`,
	`{"name":"Frank","categoryId":null}`,
	`{"name":"Frank","categoryId":true}`,
	`{"name":"Frank","categoryId":[1]}`,
	`{"name":"Frank"}`,
	`{"categoryId":1}`,
	`{"name":null,"categoryId":1}`,
	`{"name":1,"categoryId":1}`,
	`{"name":{},"categoryId":1}`,
	`{"name":"Frank","categoryId":1,"status":null}`,
	`{"name":"Frank","categoryId":1,"status":""}`,
	`{"name":"Frank","categoryId":1,"status":"Sold"}`,
	`{"name":"Frank","categoryId":1,"status":"sold "}`,
	`{"name":"Frank","categoryId":1,"status":1}`,
	`{"NAME":"Frank","categoryId":1}`,
	`{"n\u0061me":"Frank","categoryId":1}`,
	`{"name":"Frank","categoryId":1,"Name":null,"STATUS":"bogus","id":"x","x":{"y":[1,2,{"z":null}]}}`,
	`{"name":"a","name":"b","categoryId":1}`,
	`{"name":"a","n\u0061me":"b","categoryId":1}`,
	`{"name":"a","categoryId":1,"x":{"y":1,"y":2}}`,
	`{"name":"a\u0000","categoryId":1}`,
	`{"name":"\ud800","categoryId":1}`,
	`{"name":"\udc36\ud83d","categoryId":1}`,
	`{"name":"\ud83d\udc36","categoryId":1}`,
	`{"name":"a","categoryId":1,"x":"\ud800"}`,
	"{\"name\":\"a\xff\",\"categoryId\":1}",
	"{\"name\":\"a\",\"categoryId\":1,\"x\":\"\xff\"}",
	"{\"name\":\"a\tb\",\"categoryId\":1}",
	`{"name":"a","categoryId":1}}`,
	`{"name":"a","categoryId":1} {"name":"b","categoryId":2}`,
	`{"name":"a","categoryId":1,}`,
	`{"name":"a","categoryId":1`,
	`{"name":"a" "categoryId":1}`,
	`{name:"a","categoryId":1}`,
	`[{"name":"a","categoryId":1}]`,
	`"Frank"`, `1`, `null`, `true`, `{}`, `[]`, `{`, `}`, `x`, `nul`,
	"\xef\xbb\xbf" + `{"name":"a","categoryId":1}x`,
	`{"name":"a","categoryId":1,"x":` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + `}`,
	`{"name":"a","categoryId":1,"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`,
	padded(65536), padded(65537), padded(200_000),
	padded(65530) + strings.Repeat(" ", 6), padded(65530) + strings.Repeat(" ", 7),
}

// padded returns a body of that size.
func padded(size int) string {
	const before, after = `{"categoryId":1,"name":"`, `"}`
	return before + strings.Repeat("x", size-len(before)-len(after)) + after
}

func TestARowOfNDJSONIsAcceptedWhereTheServiceAcceptsIt(t *testing.T) {
	l := newLive(t)
	for _, body := range bodies {
		for _, end := range []string{"", "\n", "\r\n"} {
			l.wantSame(t, files.NDJSON, []byte(body+end), []byte(body))
		}
	}
}

func TestRandomRowsOfNDJSONAreAcceptedWhereTheServiceAcceptsThem(t *testing.T) {
	l := newLive(t)
	name := rapid.SampledFrom([]string{`"name"`, `"categoryId"`, `"status"`, `"id"`, `"Name"`, `"x"`, `"statu\u0073"`})
	value := rapid.OneOf(
		rapid.SampledFrom([]string{`"sold"`, `"available"`, `"Frank"`, `""`, `"\u0000"`, `"\ud800"`, `1`, `-1`, `1.0`, `0e1`, `9223372036854775808`, `null`, `[]`, `{"a":1}`, `{"a":1,"a":2}`, `tru`}),
		rapid.Custom(func(t *rapid.T) string { return strconv.FormatInt(rapid.Int64().Draw(t, "n"), 10) }),
		rapid.Custom(func(t *rapid.T) string { return quote(rapid.String().Draw(t, "s")) }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		var properties []string
		if rapid.Bool().Draw(rt, "complete") {
			properties = []string{`"name":` + quote(rapid.String().Draw(rt, "name")), `"categoryId":` + strconv.FormatInt(rapid.Int64().Draw(rt, "category"), 10)}
		}
		for range rapid.IntRange(0, 3).Draw(rt, "more") {
			properties = append(properties, name.Draw(rt, "property")+":"+value.Draw(rt, "value"))
		}
		body := "{" + strings.Join(rapid.Permutation(properties).Draw(rt, "order"), ",") + "}"
		l.wantSame(rt, files.NDJSON, []byte(body), []byte(body))
	})
}

func TestARowOfCSVIsAcceptedWhereTheServiceAcceptsWhatItSays(t *testing.T) {
	l := newLive(t)
	name := rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune(" \t\r\n\",;'*=+-@\\\u0000\ufeff🐕é"))),
		rapid.SampledFrom([]string{"", "\xff", "a\xc3", "\xed\xa0\x80"}),
		rapid.Custom(func(t *rapid.T) string { // near the greatest body
			size := 65536 - len(`{"name":"","categoryId":1}`) - rapid.IntRange(-3, 20).Draw(t, "below the limit")
			piece := rapid.SampledFrom([]string{"x", `"`, "\n", "\x01"}).Draw(t, "piece")
			return strings.Repeat(piece, size/(len(quote(piece))-2)) + strings.Repeat("y", size%(len(quote(piece))-2))
		}),
	)
	category := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string { return strconv.FormatInt(rapid.Int64().Draw(t, "n"), 10) }),
		rapid.StringMatching(`[-+]?[0-9]{1,20}([.eE][0-9]{0,2})?`),
		rapid.SampledFrom([]string{"", "1", "-0", "007", "+5", "7.0", "1e2", "0x10", "1_000", "NaN", "9223372036854775808"}),
	)
	status := rapid.SampledFrom([]string{"", "sold", "pending", "available", "Sold", "lost", "sold\n", "null"})
	rapid.Check(t, func(rt *rapid.T) {
		n, c, s := name.Draw(rt, "name"), category.Draw(rt, "category"), status.Draw(rt, "status")
		body := `{"name":` + quote(n)
		if c != "" {
			body += `,"categoryId":` + c
		}
		if s != "" && s != "available" { // the shortest body counts, which leaves that out
			body += `,"status":` + quote(s)
		}
		file := "categoryId,status,other,name\n" + c + "," + field(s) + ",ignored," + field(n) + "\n"
		l.wantSame(rt, files.CSV, []byte(file), []byte(body+"}"))
	})
}

// quote returns s as JSON has it; what is not UTF-8 goes as it is.
func quote(s string) string {
	if quoted, err := jsontext.AppendQuote(nil, s); err == nil {
		return string(quoted)
	}
	return `"` + s + `"`
}

// field returns s as a field of CSV, in quotes whether it needs them or not.
func field(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// FuzzRows gives both the same line.
func FuzzRows(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	l := newLive(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.ContainsAny(body, "\n\r") || len(bytes.TrimSpace(body)) == 0 || bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) || bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
			return // lines, no line, and marks at the beginning of a file
		}
		l.wantSame(t, files.NDJSON, body, body)
	})
}
