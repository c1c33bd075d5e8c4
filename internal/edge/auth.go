package edge

import (
	"net/http"
	"strings"

	"example.com/petstore/internal/pets/keys"
)

// The challenges of RFC 6750, section 3. Which of the two is sent tells a
// client whether it sent no key or a wrong one; the body is the same for both.
var (
	errNoKey    = unauthorized(`Bearer realm="petstore"`)
	errWrongKey = unauthorized(`Bearer realm="petstore", error="invalid_token"`)
)

// errReadOnly is the refusal of a key that is valid and may not do this.
var errReadOnly = &problem{
	status:  http.StatusForbidden,
	code:    codeForbidden,
	message: "this API key may only read; adding an animal needs another",
	header:  http.Header{"Www-Authenticate": {`Bearer realm="petstore", error="insufficient_scope"`}},
}

// authenticate returns the ID of the API key the request comes with, once the
// key is valid and may be used with the request's method.
func (e *edge) authenticate(r *http.Request) (keyID string, err error) {
	token, ok := bearerToken(r.Header)
	if !ok {
		return "", errNoKey
	}
	grant, ok, err := e.Authenticate(r.Context(), token)
	switch {
	case err != nil:
		return "", unavailable(err)
	case !ok:
		return "", errWrongKey
	case grant.ReadOnly && !isSafe(r.Method):
		return grant.KeyID, errReadOnly
	}
	return grant.KeyID, nil
}

// isSafe reports whether the method changes nothing (RFC 9110, section 9.2.1).
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// bearerToken reads the one Authorization header (RFC 9110, section 11.6.2;
// RFC 6750, section 2.1). Two of them are refused: no rule says which of them
// counts.
func bearerToken(h http.Header) (token string, ok bool) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.TrimLeft(token, " ")
	return token, keys.IsToken(token)
}
