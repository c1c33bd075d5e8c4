package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/engine/docs"
	"example.com/petstore/engine/edge"
)

const notes = `{openapi: 3.0.3, info: {title: Notes & <more>, version: 1.0.0}, servers: [{url: /v1}], paths: {}}`

// TestPage checks that the page gets all its files, and runs no foreign script, since people enter their keys there.
func TestPage(t *testing.T) {
	document, err := edge.ParseDocument([]byte(notes), nil)
	if err != nil {
		t.Fatal(err)
	}
	for public, connect := range map[string]string{"": "", "https://notes.example/v1": " https://notes.example/v1/"} {
		want := "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
			"connect-src 'self'" + connect + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
		files := map[string]edge.File{}
		for _, file := range docs.New(document, public) {
			files[file.Path] = file
			if file.Policy != want {
				t.Errorf("%s: got the policy %s, want %s", file.Path, file.Policy, want)
			}
		}
		html := string(files["/docs"].Content)
		if want := "<title>Notes &amp; &lt;more&gt;</title>"; !strings.Contains(html, want) {
			t.Errorf("got %s, want %s in it", html, want)
		}
		for _, path := range []string{"/docs/docs.css", "/docs/docs.js", "/docs/scalar.js"} {
			if !strings.Contains(html, `"`+path[1:]+`"`) || len(files[path].Content) == 0 || files[path].MediaType == "" {
				t.Errorf("%s: got no such file, or a page that does not load it", path)
			}
		}
	}
}

func Example() {
	document, err := edge.ParseDocument([]byte(notes), []byte(notes))
	if err != nil {
		panic(err)
	}
	options := edge.Options{Docs: docs.New(document, "")} // of edge.New
	fmt.Println(options.Docs[0].Path)
	// Output: /docs
}
