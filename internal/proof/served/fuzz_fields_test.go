package served_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/contract/contracttest"
)

// Each of these targets changes one field of a request, and compares the
// response with a second reading of the field that shares no code with the edge.

// fuzzed serves requests from memory and judges every response.
type fuzzed struct {
	handler http.Handler
	judge   *contracttest.Judge
}

func newFuzzed(f *testing.F) fuzzed {
	store := memory.New()
	for range 3 {
		if _, err := store.CreatePet(f.Context(), pets.NewPet{Name: "Frank", Status: pets.Sold}); err != nil {
			f.Fatal(err)
		}
	}
	return fuzzed{newHandler(f, store, io.Discard), contracttest.NewJudge(f)}
}

func (f fuzzed) send(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	if err := f.judge.Check(r, w.Result(), w.Body.Bytes()); err != nil || w.Code >= 500 {
		t.Fatalf("got %d %s (%v), want a response the document describes, below 500", w.Code, w.Body, err)
	}
	return w
}

var jsonInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// integerWithin reports whether text is an integer as JSON writes it, from low to
// high.
func integerWithin(text string, low, high int64) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && jsonInteger.MatchString(text) && n >= low && n <= high
}

// queryIsValid reads a query string of listPets as the document means it.
func queryIsValid(raw string) bool {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return false
	}
	for name, valid := range map[string]func(string) bool{
		"limit":  func(v string) bool { return integerWithin(v, 1, 100) },
		"after":  func(v string) bool { return integerWithin(v, 0, math.MaxInt64) },
		"status": func(v string) bool { return slices.Contains(pets.Statuses(), pets.Status(v)) },
	} {
		if values := query[name]; len(values) > 1 || len(values) == 1 && !valid(values[0]) {
			return false
		}
	}
	return true
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "limit=5&status=sold&after=1", "limit=%zz", "limit=5;x=1", "limit=", "limit", "limit=05", "limit=+5", "limit=%2B5",
		"limit=5&%6cimit=6", "limit=1e1", "after=9223372036854775807", "after=9223372036854775808", "after=-0", "status=%73old",
		"status=Sold", "x=%ff&&&=", "limit=5&limit=5", "limit[]=5", "%", "a=b=c", "limit=５",
	} {
		f.Add(seed)
	}
	s := newFuzzed(f)
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest(http.MethodGet, petsPath, nil)
		r.URL.RawQuery, r.RequestURI = raw, petsPath+"?"+raw
		r.Header.Set("Authorization", "Bearer "+key)
		want := http.StatusBadRequest
		if queryIsValid(raw) {
			want = http.StatusOK
		}
		if w := s.send(t, r); w.Code != want {
			t.Errorf("?%q: got %d %s, want %d", raw, w.Code, w.Body, want)
		}
	})
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		frank, `{"name":"","categoryId":-9223372036854775808,"status":"sold"}`, `{"categoryId":9223372036854775808,"name":"a"}`,
		`{"name":"\ud800","categoryId":1}`, `{"name":"\ud83d\ude00","categoryId":1}`, "{\"name\":\"\xff\",\"categoryId\":1}",
		`{"name":"\u0000","categoryId":1}`, `{"name":"a","name":"b","categoryId":1}`, `{"name":"a","categoryId":7.0}`,
		`{"name":"a","categoryId":1e2}`, `{"name":"a","categoryId":-0}`, `{"name":"a","categoryId":1}{}`, `{"NAME":"a","categoryId":1}`,
		`{"name":"a","categoryId":1,"status":null}`, `{"name":"a","categoryId":1,"x":[{"y":1,"y":2}]}`, "\ufeff" + frank, `null`, `[]`, ``,
		`{"name":"a","categoryId":"1"}`, strings.Repeat(`[`, 10_001),
	} {
		f.Add([]byte(seed))
	}
	s := newFuzzed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, petsPath, strings.NewReader(string(body)))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		w := s.send(t, r)
		if w.Code != http.StatusCreated {
			return
		}
		var sent struct {
			Name       *string      `json:"name"`
			CategoryID *json.Number `json:"categoryId"`
		}
		var got struct {
			Name       string      `json:"name"`
			CategoryID json.Number `json:"categoryId"`
		}
		if !utf8.Valid(body) || !json.Valid(body) {
			t.Errorf("%q: got 201, want JSON in UTF-8 only", body)
		}
		// encoding/json takes NAME for name, so only a body without such a twin
		// can be compared.
		if twin(body) || json.Unmarshal(body, &sent) != nil {
			return
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || sent.Name == nil || sent.CategoryID == nil ||
			got.Name != *sent.Name || got.CategoryID != *sent.CategoryID && *sent.CategoryID != "-0" {
			t.Errorf("%q: got %s (%v), want its name and category", body, w.Body, err)
		}
	})
}

// twin reports whether the body has a property whose name differs from one of
// the schema in case only.
func twin(body []byte) bool {
	var properties map[string]json.RawMessage
	if json.Unmarshal(body, &properties) != nil {
		return true
	}
	for name := range properties {
		for _, known := range []string{"name", "categoryId"} {
			if name != known && strings.EqualFold(name, known) {
				return true
			}
		}
	}
	return false
}

var bearerOfKey = regexp.MustCompile(`^(?i:bearer) +` + regexp.QuoteMeta(key) + `$`)

func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{
		"", "Bearer " + key, "bEaReR   " + key, "Bearer", "Bearer ", "Bearer\t" + key, "Basic " + key, key, "Bearer " + key + "=",
		"Bearer " + key + " ", "Bearer psk_aaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb000000", "Bearer " + key + "," + key, "Bearer é",
	} {
		f.Add(seed)
	}
	s := newFuzzed(f)
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest(http.MethodGet, petsPath, nil)
		r.Header["Authorization"] = []string{value}
		w := s.send(t, r)
		want := http.StatusUnauthorized
		if bearerOfKey.MatchString(value) {
			want = http.StatusOK
		}
		if w.Code != want {
			t.Errorf("Authorization: %q: got %d, want %d", value, w.Code, want)
		}
	})
}
