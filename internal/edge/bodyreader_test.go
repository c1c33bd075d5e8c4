package edge

import (
	"testing"

	"example.com/petstore/internal/edge/constructs"
	"example.com/petstore/internal/edge/constructs/api"
)

func TestABodyFromElsewhereIsReadAsTheServiceReadsIt(t *testing.T) {
	read, err := BodyReader[api.Dog](constructs.Document, "postAll")
	if err != nil {
		t.Fatal(err)
	}
	value, dog, err := read([]byte(`{"kind":"dog","bark":true}`), "the line")
	if object, _ := value.(map[string]any); err != nil || dog.Kind != "dog" || !dog.Bark || object["bark"] != true {
		t.Errorf("a dog: got %v, %+v (%v), want it bound", value, dog, err)
	}
	for text, want := range map[string]string{
		`[]`:                          "the line must be an object",
		`{"kind":"dog"}`:              "bark is required",
		`{"kind":"dog","bark":"yes"}`: "bark must be true or false",
		`{"kind":1,"kind":2}`:         `the line has the property "kind" twice`,
		``:                            "the line ends before its JSON does",
	} {
		if _, _, err := read([]byte(text), "the line"); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	for operation, want := range map[string]string{
		"deleteCrate": "openapi.yaml: deleteCrate has no body",
		"nothing":     "openapi.yaml: it has no operation nothing",
	} {
		if _, err := BodyReader[api.Dog](constructs.Document, operation); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", operation, err, want)
		}
	}
}
