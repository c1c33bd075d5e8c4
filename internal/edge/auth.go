package edge

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
)

// Caller identifies who sent a request.
type Caller struct {
	ID       string // of the API key; not a secret, because it is logged
	ReadOnly bool   // the caller may only use operations that change nothing
}

// CallerOf returns the caller of the operation whose context is ctx. It is the
// zero Caller if the operation needs no key.
func CallerOf(ctx context.Context) Caller {
	if o, ok := ctx.Value(requestKey{}).(*request); ok {
		return o.Caller
	}
	return Caller{}
}

// b64token has the characters of a bearer token but = (RFC 6750, section 2.1).
const b64token = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~+/"

// authenticate returns the caller of a request. If the key was recognised, the
// caller has its ID even when there is an error.
func (s *Server) authenticate(ctx context.Context, r *http.Request) (Caller, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return Caller{}, s.unauthorized("", "", "missing")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	bare := strings.TrimRight(token, "=")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || bare == "" || strings.Trim(bare, b64token) != "" {
		return Caller{}, s.unauthorized("", "", "malformed")
	}
	caller, err := s.service.Authenticate(ctx, token)
	if p, ok := errors.AsType[*Problem](err); ok {
		return caller, s.unauthorized("invalid_token", p.Message, p.Reason)
	}
	if err != nil {
		return Caller{}, Unavailable(err)
	}
	if caller.ReadOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return caller, &Problem{
			Status: http.StatusForbidden, Code: "forbidden",
			Message: "this API key may only read; the operation needs one that may write",
			Header:  s.challenge("insufficient_scope", ""),
		}
	}
	return caller, nil
}

func (s *Server) unauthorized(fault, tell, reason string) *Problem {
	return &Problem{
		Status: http.StatusUnauthorized, Code: "unauthorized",
		Message: cmp.Or(tell, "a valid API key is required, sent as Authorization: Bearer API_KEY"),
		Header:  s.challenge(fault, tell), Reason: reason,
	}
}

// challenge returns a WWW-Authenticate header (RFC 6750, section 3).
func (s *Server) challenge(fault, description string) http.Header {
	value := `Bearer realm="` + s.options.Name + `"`
	if fault != "" {
		value += `, error="` + fault + `"`
	}
	if description != "" {
		value += `, error_description="` + description + `"`
	}
	return http.Header{"Www-Authenticate": {value}}
}
