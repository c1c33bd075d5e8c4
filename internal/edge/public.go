package edge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/fault"
	"github.com/labstack/echo/v4"
)

// Docs is a documentation page, such as that of package docs. The zero value is none.
type Docs struct {
	Path  string // of the page, such as /docs; it has an operation at #/TAG/OPERATION_ID
	Files []File // the page and what it loads
}

// File is a file that anybody may read.
type File struct {
	Path, MediaType string
	Policy          string // its Content-Security-Policy
	Content         []byte // may be compressed with gzip, which every browser accepts
}

// addProbes adds /livez, which reports that the process runs, /readyz, which reports whether
// it can serve requests, and /, which redirects browsers to the documentation page.
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
		reads := method == http.MethodGet || method == http.MethodHead
		if h.options.Docs.Path != "" && reads && strings.Contains(accept, "text/html") {
			return c.Redirect(http.StatusFound, h.docsURL)
		}
		return echo.ErrNotFound
	})
}

// addPublic adds a path that needs no key.
func (h *Handler) addPublic(path, name string, handle echo.HandlerFunc) {
	h.echo.Match([]string{http.MethodGet, http.MethodHead}, path, func(c echo.Context) error {
		startCall(c.Request().Context(), c, name)
		c.Response().Header().Set("Cache-Control", "no-store")
		return handle(c)
	})
}

// ready returns an Unavailable error unless the server is ready.
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

// addFiles adds the document, as YAML and as JSON, and its page if there is one. In all of the
// document, the address of the first server becomes the one that clients use.
func (h *Handler) addFiles() {
	document := h.document
	address := cmp.Or(h.options.PublicURL, h.options.URL+document.Base)
	served := func(text []byte) []byte {
		return bytes.ReplaceAll(text, []byte(document.spec.Servers[0].URL), []byte(address))
	}
	files := slices.Concat(h.options.Docs.Files, []File{
		{"/openapi.yaml", "application/yaml", "default-src 'none'", served(document.raw)},
		{"/openapi.json", "application/json", "default-src 'none'", served(document.json)},
	})
	for _, file := range files {
		h.addPublic(file.Path, "docs", serveFile(file))
	}
}

// serveFile serves a file, which clients may cache but must revalidate.
func serveFile(file File) echo.HandlerFunc {
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(file.Content))
	zipped := bytes.HasPrefix(file.Content, []byte("\x1f\x8b"))
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Type", file.MediaType)
		header.Set("Content-Security-Policy", file.Policy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		header.Set("Etag", etag)
		if zipped {
			header.Set("Content-Encoding", "gzip")
		}
		c.Request().Header.Del("Range") // ServeContent would answer some values without an Error body
		c.Request().Header.Del("If-Match")
		http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(file.Content))
		return nil
	}
}
