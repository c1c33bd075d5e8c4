package edge

import (
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/edge/docs"
)

// DocsPath is where people read the document and try the operations: on the service
// itself, without a key.
const DocsPath = docs.Path

// registerDocs serves the document of s, to tools and to people. doc is the same, read.
func registerDocs(r *router, s *Service, doc *openapi3.T, base string) error {
	asJSON, err := doc.MarshalJSON()
	if err != nil {
		return fmt.Errorf("openapi.yaml does not become JSON: %w", err)
	}
	site, err := docs.New(docs.Page{
		Document: s.Document, JSON: append(asJSON, '\n'), Base: base, Public: s.PublicURL,
		QuickStart: s.QuickStart, Samples: s.Samples,
	})
	if err != nil {
		return err
	}
	for _, path := range []string{"/openapi.yaml", "/openapi.json", DocsPath, DocsPath + "/", DocsPath + "/:file"} {
		r.public(path, func(c echo.Context) error {
			handlers, err := site.Handlers()
			if err != nil {
				return err
			}
			h := handlers[c.Request().URL.Path]
			if h == nil {
				return echo.ErrNotFound // a file that the page does not load
			}
			h.ServeHTTP(c.Response(), c.Request())
			return nil
		})
	}
	return nil
}
