package edge

import (
	"net/http"
	"net/url"
)

// The methods and headers that scripts of an allowed origin may send, and the headers
// that they may read. The list has methods that no operation has: a browser hides the
// 405 to a method that is not listed.
var (
	corsMethods = []string{"GET, HEAD, POST, PUT, PATCH, DELETE"}
	corsHeaders = []string{"Authorization, Content-Type, Idempotency-Key, Prefer, X-Request-Id"}
	corsExposed = []string{"Link, Location, Preference-Applied, X-Request-Id, Deprecation, Sunset, Retry-After, WWW-Authenticate"}
	varyOrigin  = []string{"Origin"}
)

// admitLocalOrigin lets scripts of pages on this machine read the response, whose
// header is h, whatever it will be. It reports whether the request only asks for
// that: a preflight (https://fetch.spec.whatwg.org/#cors-preflight-request).
func admitLocalOrigin(r *http.Request, h http.Header) (preflight bool) {
	h["Vary"] = varyOrigin // also where there is none: a cache must not mix them
	origins := r.Header["Origin"]
	if len(origins) != 1 || !isLocalOrigin(origins[0]) {
		return false
	}
	h["Access-Control-Allow-Origin"] = origins
	h["Access-Control-Expose-Headers"] = corsExposed
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h["Access-Control-Allow-Methods"] = corsMethods
	h["Access-Control-Allow-Headers"] = corsHeaders
	return true
}

// isLocalOrigin reports whether pages of that origin come from this machine. A
// name that merely resolves to it is not enough: anybody can have one.
func isLocalOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != origin {
		return false
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}
