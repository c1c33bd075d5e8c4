package web

import (
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
	"example.com/petstore/internal/pets"
)

func TestTheBasePathIsTheDocuments(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range doc.Servers {
		if got, err := server.BasePath(); err != nil || got != BasePath {
			t.Errorf("path of the server %s: got %q (%v), want %q", server.URL, got, err, BasePath)
		}
	}
}

func TestTheLogKnowsTheKeysOfThisServiceByTheirForm(t *testing.T) {
	_, token, err := pets.NewKey("test", time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := KeyPattern.FindString("/v1/" + token + "/x"); got != token {
		t.Errorf("key in a path: got %q, want %q", got, token)
	}
	if prefix, _ := KeyPattern.LiteralPrefix(); prefix != "psk_" {
		t.Errorf("prefix of every key: got %q, want psk_, which the log then looks for", prefix)
	}
}

func TestNoOperationOfThePetStoreIsPublic(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			if o.Security != nil && len(*o.Security) == 0 {
				t.Errorf("%s %s: got security: [], want an API key for every operation", method, path)
			}
		}
	}
}
