package edge

import (
	"context"
	"net/http"
	"strings"

	"example.com/petstore/internal/keyring"
)

// The challenges of RFC 6750, section 3. Which of the two is sent tells a
// client whether it sent no key or a wrong one; the body is the same for both.
const (
	challenge             = `Bearer realm="petstore"`
	challengeInvalidToken = challenge + `, error="invalid_token"`
)

// authenticate returns the request's context with the ID of its API key.
func (e *edge) authenticate(r *http.Request) (context.Context, error) {
	token, ok := bearerToken(r.Header)
	if !ok {
		return nil, unauthorized(challenge)
	}
	keyID, ok, err := e.Authenticate(r.Context(), token)
	switch {
	case err != nil:
		return nil, unavailable(err)
	case !ok:
		return nil, unauthorized(challengeInvalidToken)
	}
	return context.WithValue(r.Context(), keyIDKey{}, keyID), nil
}

// bearerToken reads the one Authorization header (RFC 9110, section 11.6.2;
// RFC 6750, section 2.1). Two of them are refused: which one counts would be
// anybody's guess.
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
	return token, keyring.IsToken(token)
}

type keyIDKey struct{}

// keyIDFrom returns the ID of the key that authenticated ctx, or "".
func keyIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(keyIDKey{}).(string)
	return id
}
