package edge

import (
	"net/http"
	"strconv"
	"strings"
)

// notFound is the end of a path that is no route. A browser that asks for / is
// sent to the documentation; for other clients, / is as unknown as other paths,
// with a message that leads further.
func (e *edge) notFound(x *exchange) error {
	r := x.Request()
	message := "there is nothing at this path"
	switch segments := strings.SplitN(r.URL.Path, "/", 3); {
	case r.URL.Path == "/":
		x.Response().Header().Add("Vary", "Accept")
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && acceptsHTML(r.Header) {
			return x.Redirect(http.StatusFound, e.docsAddress())
		}
		if e.base != "" {
			message += "; the operations are below " + e.base + ", and"
		} else {
			message += ";"
		}
		message += " " + DocsPath + " describes them"
	case len(segments) > 1 && e.groups[segments[1]] && e.base != "":
		message += "; the operations are below " + e.base + ", so put " + e.base + " before it"
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
