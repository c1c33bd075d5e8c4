package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/animals"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/proof/contract/contracttest"
	"example.com/petstore/internal/proof/petstoretest"
)

const (
	fixedKey = "a-key-for-the-examples"
	isJSON   = "application/json"
)

// sandbox returns what `serve --sandbox` serves.
func sandbox(t *testing.T, change ...func(*petstoretest.Config)) (http.Handler, *memory.Store) {
	t.Helper()
	store := memory.New()
	body, err := web.Body()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), animals.First(300, body)); err != nil {
		t.Fatal(err)
	}
	return petstoretest.Must(t, store, fixedKey, change...), store
}

// readOnly returns a key that may only read.
func readOnly(t *testing.T, store *memory.Store) string {
	t.Helper()
	k, token, err := pets.NewKey("reader", time.Now(), 0)
	k.ReadOnly = true
	if err = errors.Join(err, store.CreateKey(t.Context(), k)); err != nil {
		t.Fatal(err)
	}
	return token
}

// failing is a store that fails.
type failing struct {
	pets.PetStore
	err error
}

func (f failing) Pets(context.Context, pets.Query) (pets.Page, error) { return pets.Page{}, f.err }

func (f failing) Pet(context.Context, int64) (pets.Pet, error)                   { return pets.Pet{}, f.err }
func (f failing) CreatePet(context.Context, pets.NewPet) (p pets.Pet, err error) { return p, f.err }

// call is a request that brings an example.
type call struct {
	path   string // behind that of the operation; parameters have the values of their examples
	body   string
	header http.Header // in place of the usual fields
	before int         // how often it is sent before
	other  string      // a body that is sent before
	key    func(*testing.T, *memory.Store) string
	change func(*petstoretest.Config)
}

func failsWith(err error) call {
	return call{change: func(c *petstoretest.Config) {
		c.Methods = web.Methods(failing{memory.New(), err}, "")
	}}
}

// calls returns how the example of a response is brought about: by operationId, status
// and name, or by the latter two. What is not in it is the operation with the values
// of the examples of its request.
func calls() map[string]call {
	big := `{"name":"` + strings.Repeat("x", 64<<10) + `","categoryId":1}`
	reused := http.Header{"Idempotency-Key": {`"8e03978e-40d5-43dd-bc93-6894a57f9324"`}}
	return map[string]call{
		"listPets 200 end":      {path: "?after=300"},
		"listPets 400 ":         {path: "?limit=0"},
		"getPet 400 ":           {path: "1.0"},
		"getPet 404 ":           {path: "404"},
		"createPet 400 missing": {body: `{"name":"Frank"}`},
		"createPet 400 value":   {body: `{"name":"Frank","categoryId":1,"status":"lost"}`},
		"createPet 400 header":  {header: http.Header{"Idempotency-Key": {"a", "b"}}},
		"401 ":                  {header: http.Header{"Authorization": nil}},
		"403 ":                  {key: readOnly},
		"413 ":                  {body: big},
		"415 ":                  {header: http.Header{"Content-Type": {"text/plain"}}},
		"422 ":                  {header: reused, other: `{"name":"Kitty","categoryId":2}`},
		"429 ":                  {before: 3, change: func(c *petstoretest.Config) { c.Limits.Rate = 1e-3 }},
		"500 ":                  failsWith(errors.New("a fault")),
		"503 ":                  failsWith(&pets.Error{Kind: pets.Unavailable, Message: "closed"}),
	}
}

// TestEveryExampleOfTheDocumentIsTrue sends, for each example of a response, a request
// that brings it to a sandbox of its own, and compares the bodies. A request is made
// of the examples of the document where it can be.
func TestEveryExampleOfTheDocumentIsTrue(t *testing.T) {
	known, used := calls(), map[string]bool{}
	for path, item := range contracttest.NewJudge(t).Document().Paths.Map() {
		for method, o := range item.Operations() {
			for status, response := range o.Responses.Map() {
				content := response.Value.Content[isJSON]
				examples := maps.Clone(content.Examples)
				if content.Example != nil {
					examples = openapi3.Examples{"": &openapi3.ExampleRef{Value: &openapi3.Example{Value: content.Example}}}
				}
				if len(examples) == 0 {
					t.Errorf("%s %s: got no example, want one", o.OperationID, status)
				}
				for name, example := range examples {
					c, id := call{}, status+" "+name
					for _, id := range []string{id, o.OperationID + " " + id} {
						if k, found := known[id]; found {
							c, used[id] = k, true
						}
					}
					t.Run(o.OperationID+" "+id, func(t *testing.T) {
						got := c.send(t, method, path, o, name)
						if strconv.Itoa(got.Code) != status {
							t.Fatalf("got %d %s, want %s", got.Code, got.Body, status)
						}
						wantJSON(t, got.Body.Bytes(), example.Value.Value)
						wantHeaders(t, got.Header(), response.Value.Headers, name)
					})
				}
			}
		}
	}
	for id := range known {
		if !used[id] {
			t.Errorf("%q: got no such example in the document, want one", id)
		}
	}
}

// send sends the request, which has the named example of a body.
func (c call) send(t *testing.T, method, path string, o *openapi3.Operation, name string) *httptest.ResponseRecorder {
	t.Helper()
	var changes []func(*petstoretest.Config)
	if c.change != nil {
		changes = append(changes, c.change)
	}
	h, store := sandbox(t, changes...)
	key := fixedKey
	if c.key != nil {
		key = c.key(t, store)
	}
	body := c.body
	query := url.Values{}
	for _, p := range o.Parameters {
		switch value := p.Value; {
		case value.Example == nil:
		case value.In == "path" && c.path == "":
			path = strings.ReplaceAll(path, "{"+value.Name+"}", fmt.Sprint(value.Example))
		case value.In == "query" && c.path == "":
			query.Set(value.Name, fmt.Sprint(value.Example))
		}
	}
	path, _, _ = strings.Cut(path, "{")
	path = "/v1" + path + c.path
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	examples := map[string]string{}
	if o.RequestBody != nil {
		for name, e := range o.RequestBody.Value.Content[isJSON].Examples {
			text, err := json.Marshal(e.Value.Value)
			if err != nil {
				t.Fatal(err)
			}
			examples[name] = string(text)
		}
		if body == "" {
			body = examples[name]
		}
		if body == "" {
			body = examples["least"]
		}
	}
	once := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		if body == "" {
			r.Body, r.ContentLength = http.NoBody, 0
		} else {
			r.Header.Set("Content-Type", isJSON)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		for name, values := range c.header {
			r.Header[name] = values
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if c.other != "" {
		once(c.other)
	}
	if name == "complete" { // the second animal that is added
		once(examples["least"])
	}
	for range c.before {
		once(body)
	}
	return once(body)
}

func wantJSON(t *testing.T, got []byte, want any) {
	t.Helper()
	var value any
	if err := json.Unmarshal(got, &value); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var wanted any
	if err := json.Unmarshal(text, &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(value, wanted) {
		t.Errorf("got %s, want the example of the document, %s", got, text)
	}
}

// wantHeaders compares the headers that have an example and one value for all
// requests. Those of the other examples of a response are of another request.
func wantHeaders(t *testing.T, got http.Header, documented openapi3.Headers, name string) {
	t.Helper()
	ofFirst := []string{"Link", "Location"}
	for field, h := range documented {
		want := h.Value.Example
		switch value := got.Get(field); {
		case want == nil, field == "X-Request-Id", field == "Retry-After", field == "Preference-Applied":
		case slices.Contains(ofFirst, field) && (name == "end" || name == "complete"):
		case field == "Www-Authenticate" || field == "WWW-Authenticate", field == "Accept", field == "Accept-Encoding":
			// Which of them is sent depends on the fault.
			if value != "" && !strings.HasPrefix(fmt.Sprint(want), value) {
				t.Errorf("%s: got %q, want the example %q or its beginning", field, value, want)
			}
		case value != fmt.Sprint(want):
			t.Errorf("%s: got %q, want the example %q", field, value, want)
		}
	}
}

// TestTheCurlLinesBringWhatThePageShowsBesideThem sends each line of curl.sh to a
// sandbox. The animals of a filtered list all have the status of the filter, and a
// new animal is the first example beside its line.
func TestTheCurlLinesBringWhatThePageShowsBesideThem(t *testing.T) {
	doc := contracttest.NewJudge(t).Document()
	h, _ := sandbox(t)
	responses := map[string]*httptest.ResponseRecorder{}
	for id, line := range curls(t) {
		r := asRequest(t, line)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 300 {
			t.Fatalf("%s: got %d %s, want a success", id, w.Code, w.Body)
		}
		responses[id] = w
	}
	least := doc.Paths.Find("/pets").Post.Responses.Value("201").Value.Content[isJSON].Examples["least"].Value.Value
	wantJSON(t, responses["createPet"].Body.Bytes(), least)
	wantJSON(t, responses["getPet"].Body.Bytes(), doc.Paths.Find("/pets/{petId}").Get.Responses.Value("200").Value.Content[isJSON].Example)
	var listed []struct{ Status string }
	if err := json.Unmarshal(responses["listPets"].Body.Bytes(), &listed); err != nil || len(listed) == 0 {
		t.Fatalf("listPets: got %s (%v), want animals", responses["listPets"].Body, err)
	}
	for _, pet := range listed {
		if pet.Status != "available" {
			t.Errorf("listPets: got an animal that is %s, want those of the filter, available", pet.Status)
		}
	}
}
