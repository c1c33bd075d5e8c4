package edge

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// door says who may pass: it asks the service, and has the edge's own sentences.
type door struct {
	authenticate func(ctx context.Context, token string) (Identity, error)
	authorize    func(caller Identity, o Operation) error
	realm        string

	noKey, malformed, wrongKey *problem
}

func newDoor(s *Service) door {
	d := door{authenticate: s.Authenticate, authorize: s.Authorize, realm: s.Name}
	d.noKey, d.malformed = d.unauthorized("", "", "missing"), d.unauthorized("", "", "malformed")
	d.wrongKey = d.unauthorized("invalid_token", "", "")
	return d
}

// unauthorized returns a 401. Its challenge (RFC 6750, section 3) tells a client that
// sent no key from one whose key is not valid. The body is the same for both, but
// where description says more. The reason is for the log.
func (d door) unauthorized(fault, description, reason string) *problem {
	p := &problem{reason: reason, status: http.StatusUnauthorized, code: codeUnauthorized, message: "a valid API key is required, sent as Authorization: Bearer API_KEY"}
	if description != "" {
		p.message = description
	}
	p.header = d.challenge(fault, description)
	return p
}

func (d door) challenge(fault, description string) http.Header {
	challenge := `Bearer realm="` + d.realm + `"`
	if fault != "" {
		challenge += `, error="` + fault + `"`
	}
	if description != "" {
		challenge += `, error_description="` + description + `"`
	}
	return http.Header{"Www-Authenticate": {challenge}}
}

// open returns the caller of an operation, once the key is valid and may be used
// for it. Where the key is known, the caller has its ID whatever the error.
func (d door) open(r *http.Request, o Operation) (caller Identity, err error) {
	token, ok := bearerToken(r.Header)
	if !ok && len(r.Header["Authorization"]) == 0 {
		return Identity{}, d.noKey
	}
	if !ok {
		return Identity{}, d.malformed
	}
	caller, err = d.authenticate(r.Context(), token)
	if invalid, ok := errors.AsType[*InvalidKey](err); ok {
		if invalid.Tell == "" {
			p := *d.wrongKey
			p.reason = invalid.Reason
			return Identity{ID: invalid.KeyID}, &p
		}
		return Identity{ID: invalid.KeyID}, d.unauthorized("invalid_token", invalid.Tell, invalid.Reason)
	}
	if err != nil {
		return Identity{}, unavailable(err)
	}
	if d.authorize == nil {
		return caller, nil
	}
	err = d.authorize(caller, o)
	if p, ok := errors.AsType[*problem](err); ok && p.status == http.StatusForbidden {
		forbidden := *p
		forbidden.header = d.challenge("insufficient_scope", "")
		return caller, &forbidden
	}
	return caller, err
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
	return token, isToken(token)
}

// isToken reports whether s is a b64token (RFC 6750, section 2.1): one or more of its
// characters, then any number of "=".
func isToken(s string) bool {
	n := len(s)
	for n > 0 && s[n-1] == '=' {
		n--
	}
	for i := range n {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '.', c == '_', c == '~', c == '+', c == '/':
		default:
			return false
		}
	}
	return n > 0
}
