package edge

import (
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/old/edge/docs"
)

// DocsPath is where people read the document and try the operations: on the service
// itself, without a key.
const DocsPath = docs.Path

// registerDocs serves the document of s, to tools and to people. doc is the same, read.
func registerDocs(r *router, s *Service, doc *openapi3.T, base string) (*docs.Site, error) {
	asJSON, err := doc.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml does not become JSON: %w", err)
	}
	site, err := docs.New(docs.Page{
		Document: s.Document, JSON: append(asJSON, '\n'), Base: base, Public: s.PublicURL,
		QuickStart: s.QuickStart, Samples: s.Samples,
	})
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"/openapi.yaml", "/openapi.json", DocsPath, DocsPath + "/", docsFile} {
		r.public(path, func(c echo.Context) error {
			handlers, err := site.Handlers()
			if err != nil {
				return err
			}
			handlers[c.Request().URL.Path].ServeHTTP(c.Response(), c.Request())
			return nil
		})
	}
	return site, nil
}

// docsFile is the route of the files that the page loads.
const docsFile = DocsPath + "/:file"

// isUnknownFile reports whether the router took the path for a file of the page
// that is not there.
func isUnknownFile(site *docs.Site, c echo.Context) bool {
	if c.Path() != docsFile {
		return false
	}
	handlers, err := site.Handlers()
	return err == nil && handlers[c.Request().URL.Path] == nil
}
