package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
)

// loadDocument reads the document and checks it against OpenAPI itself.
func loadDocument(data []byte) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return doc, nil
}

// registerDocument serves the document: its exact bytes, and the same as JSON.
func (e *edge) registerDocument(r *router, doc *openapi3.T) error {
	asJSON, err := doc.MarshalJSON()
	if err != nil {
		return fmt.Errorf("openapi.yaml does not become JSON: %w", err)
	}
	r.public("/openapi.yaml", serveBytes("application/yaml", e.Document)) // RFC 9512
	r.public("/openapi.json", serveBytes(mediaTypeJSON, append(asJSON, '\n')))
	return nil
}

// serveBytes sends data, or 304 to a client that has it already.
func serveBytes(mediaType string, data []byte) echo.HandlerFunc {
	tag := entityTag(data)
	return func(c echo.Context) error {
		if isKnown(c, tag) {
			return c.NoContent(http.StatusNotModified)
		}
		return c.Blob(http.StatusOK, mediaType, data)
	}
}

func entityTag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// isKnown sets the headers by which a client asks again, and reports whether it
// has what bears this tag already (RFC 9110, section 13.1.2).
func isKnown(c echo.Context, tag string) bool {
	h := c.Response().Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	for _, candidate := range strings.Split(strings.Join(c.Request().Header["If-None-Match"], ","), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}
