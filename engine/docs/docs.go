// Package docs is a page that shows a document with Scalar and sends requests from the
// browser. In the folder ui, "make docs-ui" updates Scalar's bundle from npm, scalar.js.gz,
// and its licences, LICENSES.txt. docs.js sets Scalar's options; docs.css sets colors, and
// fixes what Scalar has no option for.
package docs

import (
	"bytes"
	"embed"
	"html/template"
	"strings"

	"example.com/petstore/engine/edge"
)

const path = "/docs" // of the page

//go:embed ui/page.html ui/docs.js ui/docs.css ui/scalar.js.gz ui/LICENSES.txt
var ui embed.FS

var page = template.Must(template.ParseFS(ui, "ui/page.html"))

// mediaTypes has the media types of the files that the page loads.
var mediaTypes = map[string]string{
	"scalar.js.gz": "text/javascript; charset=utf-8", "docs.js": "text/javascript; charset=utf-8",
	"docs.css": "text/css; charset=utf-8", "LICENSES.txt": "text/plain; charset=utf-8",
}

// New returns the page of a document, then the files that it loads. The page sends requests to its own
// server or, if public is not empty, to the operations at that address.
func New(d *edge.Document, public string) []edge.File {
	var html bytes.Buffer
	_ = page.Execute(&html, map[string]string{"Title": d.Title, "Base": d.Base, "PublicURL": public}) // cannot fail
	policy := contentPolicy(public)
	files := []edge.File{{Path: path, MediaType: "text/html; charset=utf-8", Policy: policy, Content: html.Bytes()}}
	for name, mediaType := range mediaTypes {
		content, _ := ui.ReadFile("ui/" + name) // it is embedded
		served := path + "/" + strings.TrimSuffix(name, ".gz")
		files = append(files, edge.File{Path: served, MediaType: mediaType, Policy: policy, Content: content})
	}
	return files
}

// contentPolicy returns the Content-Security-Policy of the page. Because people enter
// API keys there, it may only run this server's scripts and send requests to this
// server and its public address. Scalar's script adds inline styles.
func contentPolicy(public string) string {
	if public != "" {
		public = " " + public + "/"
	}
	return "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"connect-src 'self'" + public + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
