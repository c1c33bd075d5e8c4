package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/contract/contracttest"
)

// nobody is the caller of methods that tests call.
func nobody(context.Context) string { return "" }

func TestTheDefaultLimitIsTheDocuments(t *testing.T) {
	list := contracttest.NewJudge(t).Document().Paths.Value("/pets").Get
	if want := list.Parameters.GetByInAndName("query", "limit").Schema.Value.Default; float64(defaultLimit) != want {
		t.Errorf("defaultLimit: got %d, want the document's %v", defaultLimit, want)
	}
	if got := toQuery(api.ListPetsParams{}); got != (pets.Query{Limit: defaultLimit}) {
		t.Errorf("the query of no parameters: got %+v, want the default limit alone", got)
	}
}

func TestTheStatusesOfTheDomainAreTheDocuments(t *testing.T) {
	schemas := contracttest.NewJudge(t).Document().Components.Schemas
	var documented []pets.Status
	for _, v := range schemas["PetStatus"].Value.Enum {
		documented = append(documented, pets.Status(v.(string)))
	}
	if got := pets.Statuses(); !slices.Equal(got, documented) {
		t.Errorf("pets.Statuses: got %v, want the document's %v", got, documented)
	}
	for _, s := range pets.Statuses() {
		if !s.Valid() || !api.PetStatus(s).Valid() {
			t.Errorf("status %s: got invalid, want it valid here and in the generated code", s)
		}
	}
	// openapi3 reads bounds as float64, which holds 2^53-1 exactly.
	if got := schemas["Pet"].Value.Properties["id"].Value.Max; got == nil || *got != pets.MaxID {
		t.Errorf("maximum of Pet.id: got %v, want %d", got, int64(pets.MaxID))
	}
}

func TestEveryParameterReachesTheStore(t *testing.T) {
	limit, status, after := 7, api.PetStatusSold, int64(math.MaxInt64)
	got := toQuery(api.ListPetsParams{Limit: &limit, Status: &status, After: &after})
	if want := (pets.Query{Limit: 7, Status: pets.Sold, After: math.MaxInt64}); got != want {
		t.Errorf("toQuery: got %+v, want %+v", got, want)
	}
}

func TestARequestAsksForAsManyRowsAsItMayRead(t *testing.T) {
	for want, request := range map[int64]any{
		100:          api.ListPetsRequestObject{Params: api.ListPetsParams{Limit: new(100)}},
		defaultLimit: api.ListPetsRequestObject{},
		1:            api.GetPetRequestObject{PetID: 7},
	} {
		if got := RowsOf(request); got != want {
			t.Errorf("%#v: got %d rows, want %d", request, got, want)
		}
	}
}

func TestEveryFieldOfANewPetReachesTheStore(t *testing.T) {
	for _, status := range pets.Statuses() {
		got := NewPet(api.NewPet{Name: "Frank", CategoryID: math.MinInt64, Status: new(api.PetStatus(status))})
		if want := (pets.NewPet{Name: "Frank", CategoryID: math.MinInt64, Status: status}); got != want {
			t.Errorf("NewPet: got %+v, want %+v", got, want)
		}
	}
	if got := NewPet(api.NewPet{}).Status; got != pets.Available {
		t.Errorf("the status of who names none: got %s, want available", got)
	}
}

// fill gives each field below v a value that is as long as its type allows, a text one
// that JSON escapes.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.String:
		text := strings.Repeat(`"`, 100)
		if v.Type() == reflect.TypeFor[pets.Status]() {
			text = string(pets.Available)
		}
		v.SetString(text)
	case reflect.Int64, reflect.Int32, reflect.Int:
		v.SetInt(-1 << (v.Type().Bits() - 1))
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Errorf("the type %s: got no value for it, want one here", v.Type())
	}
}

func TestEveryPropertyIsConvertedBothWays(t *testing.T) {
	var sent api.NewPet
	fill(t, reflect.ValueOf(&sent).Elem())
	for field, value := range reflect.ValueOf(NewPet(sent)).Fields() {
		if value.IsZero() && field.Name != "Idempotency" {
			t.Errorf("%s of a request: got none in the domain's pet; add it to NewPet in convert.go", field.Name)
		}
	}
	var stored pets.Pet
	fill(t, reflect.ValueOf(&stored).Elem())
	encoded := AppendPet(nil, &stored)
	var properties map[string]any
	if err := json.Unmarshal(encoded, &properties); err != nil {
		t.Fatalf("a pet: got %s (%v), want JSON", encoded, err)
	}
	for field := range reflect.TypeFor[api.Pet]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, ok := properties[name]; !ok {
			t.Errorf("%s of a response: got none; add it to AppendPet in convert.go", name)
		}
	}
	if got, most := len(encoded), sizeOf(&stored); got > most {
		t.Errorf("the longest pet: got %d bytes, want at most the %d of sizeOf in convert.go", got, most)
	}
}

// asGenerated returns a pet as the generated type has it.
func asGenerated(p pets.Pet) api.Pet {
	return api.Pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: new(api.PetStatus(p.Status))}
}

// sameJSON checks that two texts are the same JSON with numbers kept whole.
func sameJSON(t rapid.TB, got []byte, want any) {
	t.Helper()
	encoded, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var texts [2]bytes.Buffer
	for i, data := range [][]byte{got, encoded} {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatalf("the response %q: got %v, want JSON", data, err)
		}
		if d.More() {
			t.Fatalf("the response %q: got more than one value, want one", data)
		}
		if err := json.NewEncoder(&texts[i]).Encode(value); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() {
		t.Fatalf("the response: got %s, want %s", got, encoded)
	}
}

func TestTheSizeOfAListIsNotExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &listed{pets: rapid.SliceOfN(rapid.Custom(anyPet), 0, 120).Draw(t, "pets")}
		size, animals := r.Size(), len(r.pets)
		w := httptest.NewRecorder()
		if err := r.VisitListPetsResponse(w); err != nil {
			t.Fatal(err)
		}
		if got := w.Body.Len(); got > size || got+50*animals+2 < size/6 {
			t.Fatalf("bytes written: got %d, want at most the %d announced, and not far fewer", got, size)
		}
	})
}

func TestTheSizeOfANameIsThatOfItsJSON(t *testing.T) {
	for c := range rune(0x300) {
		quoted, err := jsontext.AppendQuote(nil, string(c))
		if got, want := quotedSize(string(c)), len(quoted)-len(`""`); err != nil || got != want {
			t.Errorf("%U: got %d bytes, want %d (%v)", c, got, want, err)
		}
	}
}

func anyPet(t *rapid.T) pets.Pet {
	return pets.Pet{
		ID:         rapid.Int64Range(1, pets.MaxID).Draw(t, "id"),
		Name:       rapid.String().Draw(t, "name"),
		CategoryID: rapid.Int64().Draw(t, "categoryId"),
		Status:     rapid.SampledFrom(pets.Statuses()).Draw(t, "status"),
	}
}

func TestResponsesSayWhatTheGeneratedTypesWouldSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		animals := rapid.SliceOfN(rapid.Custom(anyPet), 1, 120).Draw(t, "pets")
		generated := make(api.Pets, len(animals))
		for i, p := range animals {
			generated[i] = asGenerated(p)
		}
		for _, c := range []struct {
			status int
			visit  func(*httptest.ResponseRecorder) error
			want   any
		}{
			{200, func(w *httptest.ResponseRecorder) error { return (&got{encodePet(&animals[0])}).VisitGetPetResponse(w) }, generated[0]},
			{201, func(w *httptest.ResponseRecorder) error {
				return (&created{body: encodePet(&animals[0]), location: "/v1/pets/1"}).VisitCreatePetResponse(w)
			}, generated[0]},
			{200, func(w *httptest.ResponseRecorder) error {
				return (&listed{pets: animals, link: []string{"</x>"}}).VisitListPetsResponse(w)
			}, generated},
			{200, func(w *httptest.ResponseRecorder) error { return (&listed{}).VisitListPetsResponse(w) }, api.Pets{}},
		} {
			w := httptest.NewRecorder()
			if err := c.visit(w); err != nil {
				t.Fatal(err)
			}
			if w.Code != c.status || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("response: got %d %v, want %d as JSON", w.Code, w.Header(), c.status)
			}
			if n := w.Header().Get("Content-Length"); n != "" && n != strconv.Itoa(w.Body.Len()) {
				t.Fatalf("Content-Length: got %s, want none or %d", n, w.Body.Len())
			}
			sameJSON(t, w.Body.Bytes(), c.want)
		}
	})
}

func TestTheNextPageIsNamedWhereThereIsOne(t *testing.T) {
	store := memory.New()
	s := New(store, "https://pets.example.com/v1", nobody)
	for range 5 {
		if _, err := s.CreatePet(context.Background(), api.CreatePetRequestObject{Body: &api.NewPet{Name: "Frank"}}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]string{4: `<https://pets.example.com/v1/pets?limit=4&status=available&after=4>; rel="next"`, 5: "", 6: ""} {
		response, err := s.ListPets(context.Background(), api.ListPetsRequestObject{
			Params: api.ListPetsParams{Limit: &limit, Status: new(api.PetStatusAvailable)},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if err := response.VisitListPetsResponse(w); err != nil {
			t.Fatal(err)
		}
		if got := w.Header().Get("Link"); got != want {
			t.Errorf("Link with limit %d: got %s, want %s", limit, got, want)
		}
	}
}

func TestTheNextPageIsNamedBesideOtherLinks(t *testing.T) {
	shared := &listed{link: []string{"</x>"}, body: []byte("[]")}
	for range 2 {
		w := httptest.NewRecorder()
		w.Header().Set("Link", "</docs>")
		if err := shared.VisitListPetsResponse(w); err != nil {
			t.Fatal(err)
		}
		if got := w.Header()["Link"]; !slices.Equal(got, []string{"</docs>", "</x>"}) {
			t.Errorf("Link: got %q, want both links", got)
		}
	}
}

// counting is a store that counts reads.
type counting struct {
	pets.PetStore
	final bool
	reads int
}

func (c *counting) Final() bool { return c.final }

func (c *counting) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	c.reads++
	return c.PetStore.Pet(ctx, id)
}

func (c *counting) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	c.reads++
	return c.PetStore.Pets(ctx, q)
}

func TestOnlyWhatIsFinalIsRemembered(t *testing.T) {
	large := strings.Repeat("é", maxPage/2)
	for _, c := range []struct {
		name  string
		final bool
		pets  []string // their names
		limit int      // of a list; 0 gets the first pet
		reads int      // for two requests
	}{
		{"a pet", true, []string{"Frank"}, 0, 1},
		{"a page that others follow", true, []string{"Frank", "Rex", "Tom"}, 2, 1},
		{"the last page", true, []string{"Frank", "Rex"}, 2, 2},
		{"a large page", true, []string{large, "Rex"}, 1, 2},
		{"a pet of a store whose reads are not final", false, []string{"Frank"}, 0, 2},
		{"a page of a store whose reads are not final", false, []string{"Frank", "Rex", "Tom"}, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &counting{PetStore: memory.New(), final: c.final}
			s := New(store, "/v1", nobody)
			for _, name := range c.pets {
				if _, err := s.CreatePet(t.Context(), api.CreatePetRequestObject{Body: &api.NewPet{Name: name}}); err != nil {
					t.Fatal(err)
				}
			}
			var bodies, links []string
			for range 2 {
				w := httptest.NewRecorder()
				if err := read(t.Context(), s, c.limit, w); err != nil {
					t.Fatal(err)
				}
				bodies, links = append(bodies, w.Body.String()), append(links, w.Header().Get("Link"))
			}
			if store.reads != c.reads {
				t.Errorf("two requests: got %d reads of the store, want %d", store.reads, c.reads)
			}
			if bodies[0] != bodies[1] || links[0] != links[1] || !strings.Contains(bodies[0], `"name":"`+c.pets[0]+`"`) {
				t.Errorf("got %.100s with Link %q, then %.100s with Link %q, want the same twice", bodies[0], links[0], bodies[1], links[1])
			}
		})
	}
}

// read writes a list of that limit, or the first pet where the limit is 0.
func read(ctx context.Context, s *Service, limit int, w *httptest.ResponseRecorder) error {
	if limit == 0 {
		response, err := s.GetPet(ctx, api.GetPetRequestObject{PetID: 1})
		if err != nil {
			return err
		}
		return response.VisitGetPetResponse(w)
	}
	response, err := s.ListPets(ctx, api.ListPetsRequestObject{Params: api.ListPetsParams{Limit: &limit}})
	if err != nil {
		return err
	}
	return response.VisitListPetsResponse(w)
}

func TestTheCacheKeepsWhatWasUsedLast(t *testing.T) {
	var c cache[int, int]
	const each = cacheBytes / 16
	for key := range 100 {
		c.put(key, -key, each)
		if value, ok := c.get(0); !ok || value != 0 {
			t.Fatalf("after %d others, the entry that is used all the time: got %d, %t, want it kept", key, value, ok)
		}
	}
	kept := 0
	for key := range 100 {
		if _, ok := c.young[key]; ok {
			kept++
		} else if _, ok := c.old[key]; ok {
			kept++
		}
	}
	if kept < 8 || kept > 16 {
		t.Errorf("entries of a sixteenth of the bound: got %d kept, want 8 to 16", kept)
	}
	if _, ok := c.get(99); !ok {
		t.Error("the last entry: got none, want it kept")
	}
	c.put(1000, 1, cacheBytes)
	if _, ok := c.get(1000); ok {
		t.Error("an entry as large as the bound: got it kept, want it left out")
	}
}

// failing is a store that fails.
type failing struct {
	pets.PetStore
	err error
}

func (f failing) CreatePet(context.Context, pets.NewPet) (pets.Pet, error) {
	return pets.Pet{}, f.err
}
func (f failing) Final() bool                                  { return true }
func (f failing) Pet(context.Context, int64) (pets.Pet, error) { return pets.Pet{}, f.err }
func (f failing) Pets(context.Context, pets.Query) (pets.Page, error) {
	return pets.Page{}, f.err
}

func TestAStoresErrorIsPassedOnAsItIsAndNoResponseWithIt(t *testing.T) {
	want := errors.New("the store's")
	s := New(failing{err: want}, "/v1", nobody)
	list, listErr := s.ListPets(context.Background(), api.ListPetsRequestObject{})
	create, createErr := s.CreatePet(context.Background(), api.CreatePetRequestObject{Body: &api.NewPet{}})
	get, getErr := s.GetPet(context.Background(), api.GetPetRequestObject{PetID: 1})
	for name, err := range map[string]error{"listPets": listErr, "createPet": createErr, "getPet": getErr} {
		if !errors.Is(err, want) {
			t.Errorf("error of %s: got %v, want the store's", name, err)
		}
	}
	if list != nil || create != nil || get != nil {
		t.Errorf("responses beside an error: got %v, %v, %v, want none", list, create, get)
	}
}

func TestALargePageIsWrittenWhole(t *testing.T) {
	animals := make([]pets.Pet, 100)
	for i := range animals {
		animals[i] = pets.Pet{ID: int64(i + 1), Name: strings.Repeat("\u2028é", 10_000), Status: pets.Sold}
	}
	w := httptest.NewRecorder()
	if err := (&listed{pets: animals}).VisitListPetsResponse(w); err != nil {
		t.Fatal(err)
	}
	var read []api.Pet
	if err := json.Unmarshal(w.Body.Bytes(), &read); err != nil || len(read) != len(animals) || read[99].Name != animals[99].Name {
		t.Fatalf("the page: got %d pets (%v), want %d", len(read), err, len(animals))
	}
}
