package docs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/docs"
	"example.com/petstore/engine/edge"
)

const notes = `{openapi: 3.0.3, info: {title: Notes & <more>, version: 1.0.0}, servers: [{url: /v1}], paths: {}}`

// TestPage checks that the page gets all its files, and runs no foreign script, since people enter their keys there.
func TestPage(t *testing.T) {
	document, err := edge.ParseDocument([]byte(notes), nil)
	require.NoError(t, err)
	for public, connect := range map[string]string{"": "", "https://notes.example/v1": " https://notes.example/v1/"} {
		want := "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
			"connect-src 'self'" + connect + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
		files := map[string]edge.File{}
		for _, file := range docs.New(document, public) {
			files[file.Path] = file
			assert.Equal(t, want, file.Policy, file.Path)
		}
		html := string(files["/docs"].Content)
		assert.Contains(t, html, "<title>Notes &amp; &lt;more&gt;</title>")
		for _, path := range []string{"/docs/docs.css", "/docs/docs.js", "/docs/scalar.js"} {
			assert.Contains(t, html, `"`+path[1:]+`"`)
			assert.NotEmpty(t, files[path].Content, path)
			assert.NotEmpty(t, files[path].MediaType, path)
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
