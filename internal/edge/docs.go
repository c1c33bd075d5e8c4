package edge

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
)

// DocsPath is where people read the document and try the operations: beside
// BasePath, on the service itself, without a key.
const DocsPath = "/docs"

// docsFiles are the page and what it loads. What ends in .gz, and the terms it
// is under, are Swagger UI's: `make docs-ui` writes them.
//
//go:embed docs/page.html docs/docs.js docs/docs.css docs/icon.svg docs/*.gz docs/LICENSE docs/NOTICE docs/*.LICENSE.txt
var docsFiles embed.FS

// docsAssets are the files below DocsPath, and their media types; clients know
// nothing of .gz.
var docsAssets = map[string]string{
	"docs.js":                          "text/javascript; charset=utf-8",
	"docs.css":                         "text/css; charset=utf-8",
	"icon.svg":                         "image/svg+xml",
	"swagger-ui-bundle.js.gz":          "text/javascript; charset=utf-8",
	"swagger-ui.css.gz":                "text/css; charset=utf-8",
	"swagger-ui-bundle.js.LICENSE.txt": "text/plain; charset=utf-8", // where the bundle says its terms are
	"LICENSE":                          "text/plain; charset=utf-8",
	"NOTICE":                           "text/plain; charset=utf-8",
}

// docsAddress returns where links to the page begin.
func (cfg Config) docsAddress() string { return strings.TrimSuffix(cfg.Base, BasePath) + DocsPath }

// registerDocs adds the page and what it loads. The page has no redirect: at
// /docs and at /docs/ it is the same, but for how its relative links begin.
func (e *edge) registerDocs(r *router) error {
	policy, err := docsPolicy(e.Base)
	if err != nil {
		return err
	}
	for path, root := range map[string]string{DocsPath: "", DocsPath + "/": "../"} {
		page, err := docsPage(root, e.Base)
		if err != nil {
			return err
		}
		r.public(path, policy(serveBytes("text/html; charset=utf-8", page)))
	}
	for file, mediaType := range docsAssets {
		data, err := docsFiles.ReadFile("docs/" + file)
		if err != nil {
			return err
		}
		serve := serveBytes
		name, zipped := strings.CutSuffix(file, ".gz")
		if zipped {
			serve = serveZipped
		}
		r.public(DocsPath+"/"+name, policy(serve(mediaType, data)))
	}
	return nil
}

// docsPage returns the page for a path from which root leads to the top.
func docsPage(root, base string) ([]byte, error) {
	page, err := docsFiles.ReadFile("docs/page.html")
	if err != nil {
		return nil, err
	}
	if base == BasePath {
		base = "" // no other address than the one the page was read at
	}
	return []byte(strings.NewReplacer("{{root}}", root, "{{public}}", html.EscapeString(base)).Replace(string(page))), nil
}

// docsPolicy returns the middleware that says what a browser may do with the
// page, on which people enter their API keys: run and style it with this
// service's files alone, draw the icons that are inside its stylesheet (data:),
// send requests to this service and to the public address.
func docsPolicy(base string) (echo.MiddlewareFunc, error) {
	public, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the base of links: %w", err)
	}
	if strings.ContainsAny(public.Host, ";,") { // which would begin another directive, or policy
		return nil, fmt.Errorf("the base of links: %q is no host", public.Host)
	}
	connect := "'self'"
	if public.Host != "" {
		connect += " " + public.Scheme + "://" + public.Host
	}
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			h := c.Response().Header()
			h.Set("Content-Security-Policy", policy)
			h.Set("Referrer-Policy", "no-referrer")
			return next(c)
		}
	}, nil
}

// serveZipped answers with data, which is compressed, as it is or decompressed
// on the way to who cannot read it.
func serveZipped(mediaType string, data []byte) echo.HandlerFunc {
	tag := entityTag(data)
	plainTag := strings.TrimSuffix(tag, `"`) + `-plain"`
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Vary", "Accept-Encoding")
		if !acceptsGzip(c.Request().Header) {
			if isKnown(c, plainTag) {
				return c.NoContent(http.StatusNotModified)
			}
			plain, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return err
			}
			return c.Stream(http.StatusOK, mediaType, plain)
		}
		if isKnown(c, tag) {
			return c.NoContent(http.StatusNotModified)
		}
		h.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, mediaType, data)
	}
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3).
func acceptsGzip(h http.Header) bool {
	for _, coding := range strings.Split(strings.Join(h["Accept-Encoding"], ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ToLower(weight), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// docsLink returns the Link of a deprecated operation to where the page at docs
// explains it (RFC 9745, section 3). Swagger UI names the place after the
// operation's first tag and its operationId.
func docsLink(docs string, o *openapi3.Operation) string {
	tag := "default"
	if len(o.Tags) > 0 {
		tag = o.Tags[0]
	}
	return "<" + docs + "#/" + url.PathEscape(tag) + "/" + url.PathEscape(o.OperationID) + `>; rel="deprecation"; type="text/html"`
}
