package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/docs"
	"example.com/petstore/internal/edge"
)

const notes = `
openapi: 3.0.3
info: {title: Notes & <more>, version: 1.0.0}
servers: [{url: /v1}]
paths: {}
`

// newPage returns the files of the page of the document notes, by their paths.
func newPage(t *testing.T, public string) map[string]edge.File {
	t.Helper()
	document, err := edge.ParseDocument([]byte(notes), nil)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]edge.File{}
	for _, file := range docs.New(document, public).Files {
		files[file.Path] = file
	}
	return files
}

func TestPage(t *testing.T) {
	files := newPage(t, "")
	html := string(files["/docs"].Content)
	if want := "<title>Notes &amp; &lt;more&gt;</title>"; !strings.Contains(html, want) {
		t.Errorf("got %s, want %s in it", html, want)
	}
	loaded := 0
	for _, m := range regexp.MustCompile(`(?:src|href)="(docs/[^"]+)"`).FindAllStringSubmatch(html, -1) {
		loaded++
		if file := files["/"+m[1]]; len(file.Content) == 0 || file.MediaType == "" {
			t.Errorf("%s: got no file", m[1])
		}
	}
	if loaded != 4 {
		t.Errorf("got %d files that the page loads, want 4", loaded)
	}
}

// TestPolicy checks that the page, on which people enter their keys, runs no foreign
// script and sends nothing elsewhere.
func TestPolicy(t *testing.T) {
	for public, connect := range map[string]string{"": "'self'", "https://notes.example/v1": "'self' https://notes.example/v1/"} {
		want := []string{
			"base-uri 'none'", "connect-src " + connect, "default-src 'none'", "form-action 'none'",
			"frame-ancestors 'none'", "img-src 'self' data:", "script-src 'self'", "style-src 'self' 'unsafe-inline'",
		}
		for path, file := range newPage(t, public) {
			if got := slices.Sorted(strings.SplitSeq(file.Policy, "; ")); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}
	}
}
