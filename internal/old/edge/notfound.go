package edge

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// notFound is the end of every path that is no route.
type notFound struct {
	base   string          // of the operations
	docs   string          // the address of the page for people
	groups map[string]bool // the first segments of the operations' paths
}

// handle sends a browser that asks for / to the documentation. For other clients, / is
// as unknown as other paths, with a message that leads further.
func (n *notFound) handle(c echo.Context) error {
	r := c.Request()
	message := "there is nothing at this path"
	switch segments := strings.SplitN(r.URL.Path, "/", 3); {
	case r.URL.Path == "/":
		c.Response().Header().Add("Vary", "Accept")
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && acceptsHTML(r.Header) {
			return c.Redirect(http.StatusFound, n.docs)
		}
		if n.base != "" {
			message += "; the operations are below " + n.base + ", and"
		} else {
			message += ";"
		}
		message += " " + DocsPath + " describes them"
	case len(segments) > 1 && n.groups[segments[1]] && n.base != "":
		message += "; the operations are below " + n.base + ", so put " + n.base + " before it"
	}
	return &problem{status: http.StatusNotFound, code: codeNotFound, message: message}
}

// groups returns the first segments of the operations' paths behind the base.
func groups(operations []*operation, base string) map[string]bool {
	groups := map[string]bool{}
	for _, op := range operations {
		first, _, _ := strings.Cut(strings.TrimPrefix(op.path, base+"/"), "/")
		groups[first] = true
	}
	return groups
}

// acceptsHTML reports whether Accept names HTML, as that of browsers does and
// that of programs does not (RFC 9110, section 12.5.1).
func acceptsHTML(h http.Header) bool {
	for _, part := range strings.Split(strings.Join(h["Accept"], ","), ",") {
		mediaType, parameters, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if !strings.EqualFold(mediaType, "text/html") {
			continue
		}
		for parameter := range strings.SplitSeq(parameters, ";") {
			if weight, ok := strings.CutPrefix(strings.ToLower(parameter), "q="); ok {
				q, err := strconv.ParseFloat(weight, 64)
				return err == nil && q > 0
			}
		}
		return true
	}
	return false
}
