// Package docs serves the document: byte for byte and as JSON to tools, and to
// people as a page at /docs that explains it and sends requests. It reads files
// of its own and the document; it knows nothing of the service behind the
// operations.
package docs

import (
	"embed"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Path is where the page is: on the service itself, without a key.
const Path = "/docs"

// ui is the page and all that it loads. scalar.js.gz and LICENSES.txt are
// Scalar's: `make docs-ui` writes them.
//
//go:embed ui/page.html ui/docs.js ui/docs.css ui/icon.svg ui/scalar.js.gz ui/LICENSES.txt
var ui embed.FS

// Media types.
const (
	javaScript = "text/javascript; charset=utf-8"
	yamlType   = "application/yaml" // RFC 9512
)

// Site is everything that is served. It is safe for concurrent use.
type Site struct {
	handlers func() (map[string]http.Handler, error)
}

// Page is all that a site is made of.
type Page struct {
	Document []byte // openapi.yaml byte for byte
	JSON     []byte // the same document as JSON
	Base     string // the path of the operations, such as /v1
	Public   string // the base address of the service where clients use another one than the page's, else ""

	QuickStart string // Markdown that stands after the first paragraph; may be empty
	Samples    []byte // YAML: by operationId, a list as x-codeSamples has it; may be empty
}

// New returns the site of a page.
func New(p Page) (*Site, error) {
	policy, err := securityPolicy(p.Public)
	if err != nil {
		return nil, err
	}
	// Compressing and hashing take longer than the rest of a start, and many
	// servers are never asked for the page: the first request has it made.
	return &Site{sync.OnceValues(func() (map[string]http.Handler, error) {
		s := &site{
			handlers: map[string]http.Handler{
				"/openapi.yaml": &file{header: header(yamlType, revalidate), codings: plain(p.Document)},
				"/openapi.json": &file{header: header("application/json", revalidate), codings: plain(p.JSON)},
			},
			policy: policy,
			names:  map[string]string{},
		}
		reading, err := forReading(p)
		if err != nil {
			return nil, fmt.Errorf("openapi.yaml: %w", err)
		}
		if err := s.addAssets(reading.document); err != nil {
			return nil, err
		}
		return s.handlers, s.addPage(p, reading)
	})}, nil
}

// Handlers returns what is served, by path. Each handler takes GET and HEAD.
func (s *Site) Handlers() (map[string]http.Handler, error) { return s.handlers() }

// site is the page in the making.
type site struct {
	handlers map[string]http.Handler
	policy   string
	names    map[string]string // of assets, by the name that page.html has for them
}

// addAssets adds what the page loads.
func (s *site) addAssets(shown []byte) error {
	if err := s.addAsset("document", "document", ".yaml", yamlType, shown, compressed); err != nil {
		return err
	}
	for _, a := range []struct {
		name, extension, mediaType string
		file                       string
		read                       func([]byte) (codings, error)
	}{
		{"scalar", ".js", javaScript, "scalar.js.gz", zipped},
		{"docs", ".js", javaScript, "docs.js", compressed},
		{"docs", ".css", "text/css; charset=utf-8", "docs.css", compressed},
		{"icon", ".svg", "image/svg+xml", "icon.svg", compressed},
	} {
		data, err := ui.ReadFile("ui/" + a.file)
		if err != nil {
			return err
		}
		if err := s.addAsset(a.name+a.extension, a.name, a.extension, a.mediaType, data, a.read); err != nil {
			return err
		}
	}
	terms, err := ui.ReadFile("ui/LICENSES.txt")
	if err != nil {
		return err
	}
	c, err := compressed(terms)
	if err != nil {
		return err
	}
	s.add(Path+"/LICENSES.txt", "text/plain; charset=utf-8", revalidate, c)
	return nil
}

// addAsset adds a file under a name that changes with its content.
func (s *site) addAsset(known, name, extension, mediaType string, data []byte, read func([]byte) (codings, error)) error {
	c, err := read(data)
	if err != nil {
		return fmt.Errorf("%s%s: %w", name, extension, err)
	}
	s.names[known] = "docs/" + name + "-" + checksum(data)[:12] + extension
	s.add("/"+s.names[known], mediaType, immutable, c)
	return nil
}

// addPage adds the page. It has no redirect: at /docs and at /docs/ it is the
// same, but for how its relative links begin.
func (s *site) addPage(p Page, r reading) error {
	page, err := ui.ReadFile("ui/page.html")
	if err != nil {
		return err
	}
	for path, root := range map[string]string{Path: "", Path + "/": "../"} {
		places := []string{"{{root}}", root}
		for name, text := range map[string]string{"title": r.title, "base": strings.TrimPrefix(p.Base, "/"), "server": r.server, "public": p.Public} {
			places = append(places, "{{"+name+"}}", html.EscapeString(text))
		}
		for known, name := range s.names {
			places = append(places, "{{"+known+"}}", root+name)
		}
		filled := strings.NewReplacer(places...).Replace(string(page))
		s.add(path, "text/html; charset=utf-8", revalidate, plain([]byte(filled)))
	}
	return nil
}

func (s *site) add(path, mediaType, cache string, c codings) {
	h := header(mediaType, cache)
	h.Set("Content-Security-Policy", s.policy)
	h.Set("Referrer-Policy", "no-referrer")
	s.handlers[path] = &file{header: h, codings: c}
}

func header(mediaType, cache string) http.Header {
	return http.Header{"Content-Type": {mediaType}, "Cache-Control": {cache}}
}

// securityPolicy says what a browser may do with the page, on which people
// enter their API keys: run this service's scripts alone, and send requests to
// this service and to the public address. Scalar brings its styles inside its
// script, and icons inside its styles (data:).
func securityPolicy(public string) (string, error) {
	address, err := url.Parse(public)
	if err != nil {
		return "", fmt.Errorf("the base of links: %w", err)
	}
	if strings.ContainsAny(address.Host, ";,") { // which would begin another directive, or policy
		return "", fmt.Errorf("the base of links: %q is no host", address.Host)
	}
	connect := "'self'"
	if address.Host != "" {
		connect += " " + address.Scheme + "://" + address.Host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nil
}
