package edge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"example.com/petstore/engine/fault"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"
)

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
		r := c.Request()
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if h.docsPath != "" && reads && strings.Contains(r.Header.Get("Accept"), "text/html") {
			return c.Redirect(http.StatusFound, h.docsURL)
		}
		return echo.ErrNotFound
	})
}

// addPublic adds a path that needs no key.
func (h *Handler) addPublic(path, name string, handle echo.HandlerFunc) {
	h.echo.Match([]string{http.MethodGet, http.MethodHead}, path, func(c echo.Context) error {
		(&request{operation: name}).start(c.Request().Context(), c)
		c.Response().Header().Set("Cache-Control", "no-store")
		return handle(c)
	})
}

// ready returns an Unavailable error if the server cannot serve requests.
func (h *Handler) ready(ctx context.Context) error {
	switch {
	case h.stopping.Load():
		return fault.New(fault.Unavailable, "the server is stopping")
	case h.options.LogBlocked():
		return fault.New(fault.Unavailable, "the log cannot be written")
	}
	_, err, _ := h.probes.Do("", func() (any, error) { // probes need no key, so concurrent ones share a check
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		return nil, h.service.Ready(ctx)
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, err)
	}
	return nil
}

// addFiles adds the document, as YAML and as JSON, with the address that clients use as its
// only server, and the documentation page if there is one.
func (h *Handler) addFiles() error {
	address := cmp.Or(h.options.PublicURL, h.options.URL+h.document.Base, "/")
	for path, text := range map[string][]byte{"/openapi.yaml": h.document.raw, "/openapi.json": h.document.json} {
		content, err := withServer(string(text), address)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		mediaType := strings.Replace(path, "/openapi.", "application/", 1)
		h.addFile(File{path, mediaType, "default-src 'none'", []byte(content)})
	}
	for _, file := range h.options.Docs {
		h.addFile(file)
	}
	return nil
}

// servers matches the servers of a YAML document, without comments and empty lines after them.
var servers = regexp.MustCompile(`(?m)^servers:.*((\n#.*|\n)*\n[- \]].*)*`)

// withServer returns a document, in YAML or JSON, with one server in place of its own.
func withServer(text, address string) (string, error) {
	if servers.MatchString(text) {
		return servers.ReplaceAllLiteralString(text, "servers:\n  - url: "+address), nil
	}
	tokens := jsontext.NewDecoder(strings.NewReader(text))
	for tokens.StackPointer() != "/servers" {
		if _, err := tokens.ReadToken(); err != nil {
			return "", errors.New("the document needs servers, such as a line servers: [{url: /v1}]")
		}
	}
	start := tokens.InputOffset()
	err := tokens.SkipValue()
	return text[:start] + `: [{"url": "` + address + `"}]` + text[tokens.InputOffset():], err
}

// addFile adds a file, which clients may cache but must revalidate.
func (h *Handler) addFile(file File) {
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(file.Content))
	zipped := bytes.HasPrefix(file.Content, []byte("\x1f\x8b"))
	h.addPublic(file.Path, "docs", func(c echo.Context) error {
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
		c.Response().Before(func() { header.Set("Accept-Ranges", "none") })
		http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(file.Content))
		return nil
	})
}
