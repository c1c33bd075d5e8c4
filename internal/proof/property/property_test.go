package property

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/files"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/sqlite"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	testProperties(t, func() store.Store { return memory.New() })
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	testProperties(t, func() store.Store {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// pet is a pet as decoded from JSON: values by property name.
type pet = map[string]any

// testProperties adds random pets to a store and checks that they come back
// unchanged: from get, list and repeated requests, and after an export and an
// import into another store.
func testProperties(t *testing.T, open func() store.Store) {
	schema := example.Document().Components.Schemas["NewPet"].Value
	decode, err := service.BodyDecoder()
	if err != nil {
		t.Fatal(err)
	}
	store := open()
	defer store.Close()
	s := newServer(t, store)
	var created []pet
	rapid.Check(t, func(rt *rapid.T) {
		key := strconv.Itoa(len(created))
		body := Object(schema).Draw(rt, "body")
		p := s.create(rt, key, body, http.StatusCreated)
		created = append(created, p)
		for name, v := range body {
			if !reflect.DeepEqual(p[name], normal(rt, v)) {
				rt.Errorf("create, %s: got %#v, want %#v", name, p[name], v)
			}
		}
		wantEqual(rt, "create again", s.create(rt, key, body, http.StatusCreated), p)
		wantEqual(rt, "get", s.get(rt, fmt.Sprint("/pets/", idOf(p))), p)
		page := s.get(rt, fmt.Sprintf("/pets?after=%d&limit=1", idOf(p)-1)).([]any)
		wantEqual(rt, "list", page[0], p)
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) { // any change makes another pet
			other := maps.Clone(body)
			other[name] = Value(schema.Properties[name].Value).Draw(rt, "other "+name)
			if !reflect.DeepEqual(normal(rt, other[name]), p[name]) {
				s.create(rt, key, other, http.StatusUnprocessableEntity)
			}
		}
	})
	for _, format := range []files.Format{files.CSV, files.NDJSON} {
		for _, withIDs := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/IDs=%v", format, withIDs), func(t *testing.T) {
				var file bytes.Buffer
				if err := files.Export(t.Context(), store, &file, format, func() {}); err != nil {
					t.Fatalf("Export: got error %v", err)
				}
				imported := open()
				defer imported.Close()
				rows := files.Read(&file, files.Options{Format: format, IDs: withIDs, MaxBody: edge.MaxBody, Decode: decode})
				if n, err := files.Import(t.Context(), imported, rows, withIDs); err != nil || n != len(created) {
					t.Fatalf("Import: got %d, error %v, want %d", n, err, len(created))
				}
				got := newServer(t, imported).all(t)
				for i, want := range created {
					if !withIDs {
						got[i]["id"] = want["id"]
					}
					wantEqual(t, "imported", got[i], want)
				}
			})
		}
	}
}

type server struct{ http.Handler }

func newServer(t *testing.T, s store.Store) server {
	h, err := program.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return server{h}
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// do sends a request, checks the status and returns the decoded body.
func (s server) do(t fataler, want int, r *http.Request) any {
	t.Helper()
	r.Header.Set("Authorization", "Bearer "+program.Key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != want {
		t.Fatalf("%s %s: got status %d, %s, want %d", r.Method, r.URL, w.Code, w.Body, want)
	}
	return decode(t, w.Body.Bytes())
}

func (s server) create(t fataler, key string, body pet, want int) pet {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, example.Base()+"/pets", bytes.NewReader(encode(t, body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return s.do(t, want, r).(pet)
}

func (s server) get(t fataler, path string) any {
	t.Helper()
	return s.do(t, http.StatusOK, httptest.NewRequest(http.MethodGet, example.Base()+path, nil))
}

// all returns all pets in order of their identifiers.
func (s server) all(t fataler) (all []pet) {
	t.Helper()
	for after := int64(0); ; {
		page := s.get(t, fmt.Sprintf("/pets?limit=%.0f&after=%d", *example.Parameter("limit").Max, after)).([]any)
		if len(page) == 0 {
			return all
		}
		for _, p := range page {
			all = append(all, p.(pet))
			after = idOf(p)
		}
	}
}

func wantEqual(t fataler, what string, got any, want pet) {
	t.Helper()
	p, _ := got.(pet)
	for name := range want {
		if !reflect.DeepEqual(p[name], want[name]) {
			t.Errorf("%s, %s: got %#v, want %#v", what, name, p[name], want[name])
		}
	}
	if len(p) != len(want) {
		t.Errorf("%s: got the properties of %v, want those of %v", what, p, want)
	}
}

func encode(t fataler, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%#v: got error %v", v, err)
	}
	return text
}

// decode decodes JSON and keeps numbers as written.
func decode(t fataler, text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: got error %v", text, err)
	}
	return v
}

// normal returns v after a round trip through JSON.
func normal(t fataler, v any) any { return decode(t, encode(t, v)) }

func idOf(p any) int64 {
	id, _ := p.(pet)["id"].(json.Number).Int64()
	return id
}
