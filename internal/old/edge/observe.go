package edge

import (
	"net/http"
	"strings"

	"example.com/petstore/internal/old/edge/metrics"
)

// figuresOf returns what the metrics count of an exchange.
func figuresOf(x *exchange, o outcome) metrics.Request {
	r := metrics.Request{Status: o.status, Duration: o.end.Sub(x.start)}
	if o.status != http.StatusUnauthorized { // whose key, where it was recognised, is not valid
		r.KeyID = x.ctx.caller.ID
	}
	if x.operation != nil {
		r.Operation, r.Deprecated = x.operation.ID, x.operation.Deprecated
	} else {
		r.Operation = placeOf(x.Path())
	}
	return r
}

// placeOf names a route that is no operation.
func placeOf(route string) string {
	switch {
	case route == "/livez", route == "/readyz":
		return route[1:]
	case strings.HasPrefix(route, "/openapi."):
		return "document"
	case strings.HasPrefix(route, DocsPath):
		return "docs"
	}
	return "unknown"
}

// traceOf returns the IDs of the trace that the request belongs to and of the span that
// sent it, or "" (W3C Trace Context, section 3.2: version-trace-parent-flags in
// lower-case hexadecimal digits).
func traceOf(h http.Header) (trace, span string) {
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	values := h["Traceparent"]
	if len(values) != 1 {
		return "", ""
	}
	v := values[0]
	if len(v) < length || v[:2] == "ff" || v[:2] == "00" && len(v) != length || len(v) > length && v[length] != '-' ||
		v[2] != '-' || v[35] != '-' || v[52] != '-' {
		return "", ""
	}
	trace, span = v[3:35], v[36:52]
	for _, part := range []string{v[:2], trace, span, v[53:55]} {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return "", ""
		}
	}
	if strings.Trim(trace, "0") == "" || strings.Trim(span, "0") == "" {
		return "", ""
	}
	return trace, span
}
