package edge

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/edge/docs"
)

// DocsPath is where people read the document and try the operations: beside
// BasePath, on the service itself, without a key.
const DocsPath = docs.Path

// docsAddress returns where links to the page begin.
func (cfg Config) docsAddress() string { return strings.TrimSuffix(cfg.Base, BasePath) + DocsPath }

// registerDocs serves the document, to tools and to people.
func (e *edge) registerDocs(r *router, doc *openapi3.T) error {
	asJSON, err := doc.MarshalJSON()
	if err != nil {
		return fmt.Errorf("openapi.yaml does not become JSON: %w", err)
	}
	public := e.Base
	if public == BasePath {
		public = "" // no other address than that of the request
	}
	handlers, err := docs.Handlers(e.Document, append(asJSON, '\n'), public)
	if err != nil {
		return err
	}
	for path, h := range handlers {
		r.public(path, echo.WrapHandler(h))
	}
	return nil
}

// docsLink returns the Link of a deprecated operation to where the page at docs
// explains it (RFC 9745, section 3). The place is named after the operation's
// first tag and its operationId; the page's script knows it by that name.
func docsLink(docs string, o *openapi3.Operation) string {
	tag := "default"
	if len(o.Tags) > 0 {
		tag = o.Tags[0]
	}
	return "<" + docs + "#/" + url.PathEscape(tag) + "/" + url.PathEscape(o.OperationID) + `>; rel="deprecation"; type="text/html"`
}
