package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
	"example.com/petstore/internal/proof/example"
)

// shelf is a service with PUT and DELETE, which may have one fault.
type shelf struct {
	fault string
	all   []resource
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, answer := http.StatusOK, any(nil)
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, example.Base()+"/pets"), "/")
	i := slices.IndexFunc(s.all, func(o resource) bool { return fmt.Sprint(o["id"]) == id && o["removed"] == nil })
	text, _ := io.ReadAll(r.Body)
	body := decode(text)
	switch {
	case r.Method == http.MethodPost:
		if body["status"] == nil {
			body["status"] = "available"
		}
		body["id"] = json.Number(fmt.Sprint(len(s.all) + 1))
		w.Header().Set("Location", fmt.Sprintf("%s/pets/%v", example.Base(), body["id"]))
		s.all = append(s.all, body)
		status, answer = http.StatusCreated, body
	case id == "":
		answer = s.page(r)
	case i < 0:
		status = http.StatusNotFound
	case r.Method == http.MethodPut:
		body["id"] = s.all[i]["id"]
		if answer = maps.Clone(body); s.fault == "forgets" {
			body["categoryId"] = s.all[i]["categoryId"]
		}
		s.all[i] = body
	case r.Method == http.MethodDelete:
		s.all[i]["removed"] = true
		status = http.StatusNoContent
	default:
		answer = s.all[i]
	}
	w.WriteHeader(status)
	if answer != nil {
		_, _ = io.WriteString(w, encode(answer))
	}
}

func (s *shelf) page(r *http.Request) []resource {
	page, status := []resource{}, r.FormValue("status")
	for i, o := range s.all {
		matches := status == "" || o["status"] == status
		removed := o["removed"] != nil && (s.fault != "leaves" || status == "")
		if after := r.FormValue("after"); matches && !removed && fmt.Sprint(i) == after {
			page = append(page, o)
		}
	}
	return page
}

// TestWrites tests that a PUT that forgets a property, a DELETE that leaves a pet in a
// filtered list, and an operation of an unknown form are found.
func TestWrites(t *testing.T) {
	for fault, want := range map[string]string{
		"":        "",
		"forgets": "read by get, categoryId: got",
		"leaves":  "read by list with status=",
		"unknown": "sellPet: got no flow",
	} {
		document, err := openapi3.NewLoader().LoadFromData(gen.Document)
		if err != nil {
			t.Fatal(err)
		}
		item, create := document.Paths.Value("/pets/{petId}"), document.Paths.Value("/pets").Post
		item.Put = &openapi3.Operation{OperationID: "putPet", RequestBody: create.RequestBody, Responses: item.Get.Responses}
		item.Delete = &openapi3.Operation{OperationID: "deletePet", Responses: openapi3.NewResponses(openapi3.WithStatus(http.StatusNoContent, item.Get.Responses.Status(http.StatusOK)))}
		if fault == "unknown" {
			document.Paths.Set("/pets/{petId}/sale", &openapi3.PathItem{Post: &openapi3.Operation{OperationID: "sellPet"}})
		}
		s, err := newSuite(Server{URL: serve(t, &shelf{fault: fault}), Key: "any"})
		if err != nil {
			t.Fatal(err)
		}
		s.judge.document = document
		c := &collector{}
		s.writes(c)
		found := slices.DeleteFunc(c.found, func(f string) bool { return !strings.Contains(f, "read by") && !strings.Contains(f, "flow") })
		if text := strings.Join(found, "\n"); !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%s: got %q, want %q", fault, text, want)
		}
	}
}
