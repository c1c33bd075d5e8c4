package edge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"example.com/petstore/internal/fault"
	"github.com/labstack/echo/v4"
)

// docsPath is the path of the documentation page.
const docsPath = "/docs"

// ui holds the page and the files that it loads. scalar.js.gz is Scalar's bundle
// and LICENSES.txt has its licences; "make docs-ui" updates both from npm.
//
//go:embed ui/page.html ui/docs.js ui/docs.css ui/icon.svg ui/scalar.js.gz ui/LICENSES.txt
var ui embed.FS

var page = template.Must(template.ParseFS(ui, "ui/page.html"))

// addProbes adds /livez and /readyz, which report that the process runs and whether
// it can serve requests, and /, which redirects browsers to the documentation.
func (h *Handler) addProbes() {
	h.addPublic("/livez", "livez", func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string]string{"status": "alive"})
	})
	h.addPublic("/readyz", "readyz", func(c echo.Context) error {
		if err := h.ready(c.Request().Context()); err != nil {
			return err
		}
		return c.JSON(http.StatusOK, map[string]string{"status": "ready"})
	})
	h.echo.RouteNotFound("/", func(c echo.Context) error {
		c.Response().Header().Add("Vary", "Accept")
		method, accept := c.Request().Method, c.Request().Header.Get("Accept")
		if (method == http.MethodGet || method == http.MethodHead) && strings.Contains(accept, "text/html") {
			return c.Redirect(http.StatusFound, h.docs)
		}
		return echo.ErrNotFound
	})
}

// addPublic adds a path that needs no key.
func (h *Handler) addPublic(path, name string, handle echo.HandlerFunc) {
	h.echo.Match([]string{http.MethodGet, http.MethodHead}, path, func(c echo.Context) error {
		c.Set(operationName, name)
		c.Response().Header().Set("Cache-Control", "no-store")
		return handle(c)
	})
}

// ready returns the response of /readyz if the server is not ready.
func (h *Handler) ready(ctx context.Context) error {
	switch {
	case h.stopping.Load():
		return fault.New(fault.Unavailable, "the server is stopping")
	case h.options.LogBlocked():
		return fault.New(fault.Unavailable, "the log cannot be written")
	}
	_, err, _ := h.probes.Do("", func() (any, error) { // concurrent probes share one check, because they need no key
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		return nil, h.service.Ready(ctx)
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, err)
	}
	return nil
}

// addDocs adds the document, as text and as JSON, and its page. Where the document has
// the address of its first server, they have the one at which this handler is served.
func (h *Handler) addDocs() error {
	document, public := h.document, h.options.PublicURL
	var html bytes.Buffer
	title := document.spec.Info.Title
	err := page.Execute(&html, map[string]string{"Title": title, "Base": document.Base, "PublicURL": public})
	if err != nil {
		return err
	}
	served := func(text []byte) []byte {
		address := cmp.Or(public, h.options.URL+document.Base)
		return bytes.ReplaceAll(text, []byte(document.spec.Servers[0].URL), []byte(address))
	}
	policy := contentPolicy(public)
	add := func(path, mediaType string, content []byte) {
		h.addPublic(path, "docs", serveFile(mediaType, policy, content))
	}
	add("/openapi.yaml", "application/yaml", served(document.raw))
	add("/openapi.json", "application/json", served(document.json))
	add(docsPath, "text/html; charset=utf-8", html.Bytes())
	for name, mediaType := range map[string]string{
		"scalar.js.gz": "text/javascript; charset=utf-8", "docs.js": "text/javascript; charset=utf-8",
		"docs.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml", "LICENSES.txt": "text/plain; charset=utf-8",
	} {
		content, err := ui.ReadFile("ui/" + name)
		if err != nil {
			return err
		}
		add(docsPath+"/"+strings.TrimSuffix(name, ".gz"), mediaType, content)
	}
	return nil
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

// serveFile serves content. It may be compressed with gzip, which every browser
// accepts.
func serveFile(mediaType, policy string, content []byte) echo.HandlerFunc {
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
	zipped := bytes.HasPrefix(content, []byte("\x1f\x8b"))
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Type", mediaType)
		header.Set("Content-Security-Policy", policy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache") // may be cached, but must be revalidated
		header.Set("Etag", etag)
		if zipped {
			header.Set("Content-Encoding", "gzip")
		}
		c.Request().Header.Del("Range") // ServeContent would answer some values without an Error body
		c.Request().Header.Del("If-Match")
		http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(content))
		return nil
	}
}
