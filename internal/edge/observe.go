package edge

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"example.com/petstore/internal/edge/metrics"
)

func (e *edge) observe(x *exchange, status int, d time.Duration) {
	o := metrics.Request{Status: status, Duration: d}
	if status != http.StatusUnauthorized { // whose key, where it was recognised, is not valid
		o.KeyID = x.ctx.caller.ID
	}
	if x.operation != nil {
		o.Operation, o.Deprecated = x.operation.ID, x.operation.Deprecated
	} else {
		o.Operation = placeOf(x.Path())
	}
	e.requests.End(o)
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

// remote returns the client's address for the log. It is the peer's address or, behind
// a trusted proxy, the last address in X-Forwarded-For that is no trusted proxy's.
// The header of any other peer is ignored.
func (e *edge) remote(r *http.Request) string {
	if len(e.TrustedProxies) == 0 || !e.trusts(r.RemoteAddr) {
		return r.RemoteAddr
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := strings.TrimSpace(hops[i])
		if _, err := netip.ParseAddr(hop); err != nil {
			break // a malformed entry ends the chain
		}
		if i == 0 || !e.trusts(hop) {
			return hop
		}
	}
	return r.RemoteAddr
}

// trusts reports whether an address, with or without a port, is a trusted proxy's.
func (e *edge) trusts(address string) bool {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	for _, p := range e.TrustedProxies {
		if p.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}
