package contract

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/example"
)

// TestGenerated tests that gen/ has the document and a type for each response in it.
func TestGenerated(t *testing.T) {
	document, err := os.ReadFile("../../../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(document, gen.Document) {
		t.Error("gen/api/openapi.yaml: got a text other than openapi.yaml; run make generate")
	}
	code, err := os.ReadFile("../../../gen/api/api.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range regexp.MustCompile(`(?m)^type (\w+\d{3})(?:JSON)?Response struct`).FindAllSubmatch(code, -1) {
		got = append(got, strings.ToLower(string(m[1])))
	}
	for _, item := range example.Document().Paths.Map() {
		for _, o := range item.Operations() {
			for status := range o.Responses.Map() {
				want = append(want, strings.ToLower(o.OperationID)+status)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("gen/api: got the responses %q, want %q; run make generate", got, want)
	}
}

// TestKeyPrefix tests that the document has the prefix of API keys.
func TestKeyPrefix(t *testing.T) {
	_, token, err := keys.New("test", time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	prefix, _, _ := strings.Cut(token, "_")
	all := regexp.MustCompile(`Bearer (\w+)_…`).FindAllSubmatch(gen.Document, -1)
	for _, m := range all {
		if string(m[1]) != prefix {
			t.Errorf("openapi.yaml: got %s, want the prefix %s", m[0], prefix)
		}
	}
	if len(all) == 0 || !leak.MatchString("a sentence with "+token) {
		t.Errorf("got %d keys in openapi.yaml, a leak of a key found: %t, want both", len(all), leak.MatchString(token))
	}
}
