package edge

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/edge/docs"
)

// DocsPath is where people read the document and try the operations: on the service
// itself, without a key.
const DocsPath = docs.Path

// docsAddress returns where links to the page begin.
func (e *edge) docsAddress() string { return strings.TrimSuffix(e.links, e.base) + DocsPath }

// registerDocs serves the document, to tools and to people.
func (e *edge) registerDocs(r *router, doc *openapi3.T) error {
	asJSON, err := doc.MarshalJSON()
	if err != nil {
		return fmt.Errorf("openapi.yaml does not become JSON: %w", err)
	}
	e.docs, err = docs.New(docs.Page{
		Document: e.Document, JSON: append(asJSON, '\n'), Base: e.base, Public: e.PublicURL,
		QuickStart: e.QuickStart, Samples: e.Samples,
	})
	if err != nil {
		return err
	}
	for _, path := range []string{"/openapi.yaml", "/openapi.json", DocsPath, DocsPath + "/", docsFile} {
		r.public(path, func(c echo.Context) error {
			handlers, err := e.docs.Handlers()
			if err != nil {
				return err
			}
			handlers[c.Request().URL.Path].ServeHTTP(c.Response(), c.Request())
			return nil
		})
	}
	return nil
}

// docsFile is the route of the files that the page loads.
const docsFile = DocsPath + "/:file"

// isUnknownFile reports whether the router took the path for a file of the page
// that is not there.
func (e *edge) isUnknownFile(x *exchange) bool {
	if x.Path() != docsFile {
		return false
	}
	handlers, err := e.docs.Handlers()
	return err == nil && handlers[x.Request().URL.Path] == nil
}
