package contract

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// noCredentials is the challenge of a 401 to a request without credentials, as a regular expression.
func (s *Suite) noCredentials() string { return `WWW-Authenticate: Bearer realm="` + s.Realm + `"` }

// needsNoKey reports whether an operation is public.
func needsNoKey(r *routers.Route) bool {
	security := r.Operation.Security
	return security != nil && len(*security) == 0
}

// readable returns the target of the first operation that only reads and needs a key, or "".
func (s *Suite) readable() string {
	for _, r := range s.operations {
		send, callable := request(r, "")
		if r.Method == http.MethodGet && callable && !needsNoKey(r) && send == "GET "+r.Path {
			return r.Path
		}
	}
	return ""
}

// reach stops the test if the response to one request shows that there is nothing to test.
func (s *Suite) reach(t *testing.T) {
	t.Helper()
	target := s.readable()
	if target == "" {
		return
	}
	got, err := s.do(Case{Send: "GET " + target + "\n" + bearer(s.Key)})
	if err != nil {
		s.fatal(t, "got no response: %v", err)
	}
	_, schema := jsonBody(got.content())
	status := got.StatusCode
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		s.fatal(t, "GET %s: got the status %d: the key is refused", target, status)
	case status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout:
		s.fatal(t, "GET %s: got the status %d: the service is down, or a proxy does not reach it", target, status)
	case status != http.StatusOK || (&openapi3.Schema{Type: schema.Type}).VisitJSON(got.value) != nil:
		s.fatal(t, "GET %s: got the status %d and %.60q: it is another service, or has another path", target, status, got.Body)
	}
}

// authentication tests which credentials are accepted, by the first operation that only reads. needsKey
// tests each operation without any.
func (s *Suite) authentication(t *testing.T) {
	target := s.readable()
	if target == "" {
		return
	}
	read := "GET " + target + "?access_token=" + s.Key + "&api_key=" + s.Key + "\n"
	key, body := bearer(s.Key), ""
	none := s.noCredentials()
	invalid := none + `, error="invalid_token"`
	either := none + `(, error="invalid_token")?`
	for _, c := range []Case{
		{Send: key, Want: "200"},
		{Send: "authorization: bearer " + s.Key, Want: "200"},
		{Send: "X-Api-Key: " + s.Key, Header: none},
		{Send: "Authorization: ", Header: none},
		{Send: "Authorization: Bearer", Header: none},
		{Send: "Authorization: " + s.Key, Header: none},
		{Send: "Authorization: Bearer  " + s.Key, Want: "200"},
		{Send: bearer("AZaz09-._~+/=="), Header: invalid},
		{Send: bearer("=="), Header: none},
		{Send: bearer("a=b"), Header: none},
		{Send: bearer("a,b"), Header: none},
		{Send: bearer(`"` + s.Key + `"`), Header: none},
		{Send: "Authorization: Basic " + s.Key, Header: none},
		{Send: key + "\n" + key, Header: either, Gateway: true},
		{Send: "Cookie: access_token=" + s.Key, Header: none},
		{Send: "Proxy-" + key, Header: none},
		{Send: bearer(s.UnknownKey), Header: invalid},
		{Send: bearer("another-api-key-for-tests"), Header: invalid},
		{Send: key + "\xff", Header: either},
	} {
		c.Send, c.NoKey = read+c.Send, true
		if c.Want == "" {
			c.Want = "401 unauthorized"
		}
		got := s.Try(t, c)
		if body == "" && got.StatusCode == http.StatusUnauthorized {
			body = got.Body
		}
		got.Assert(t, got.StatusCode != http.StatusUnauthorized || got.Body == body, "got %s, want the body of all, %s", got.Body, body)
	}
	for reason, key := range map[string]string{"expired": s.ExpiredKey, "revoked": s.RevokedKey} {
		if key != "" {
			challenge := invalid + `, error_description="[^"]*` + reason + `[^"]*"`
			s.Try(t, Case{Send: read + bearer(key), NoKey: true, Want: "401 unauthorized", Says: reason, Header: challenge})
		}
	}
}

// methods tests the methods that each path supports, and does not.
func (s *Suite) methods(t *testing.T) {
	paths := map[string][]string{}
	for _, r := range s.operations {
		if send, callable := request(r, ""); callable {
			_, path, _ := Case{Send: send}.target()
			invalid := regexp.MustCompile(`{\w+}`).ReplaceAllString(r.Path, "x") // not a valid identifier, perhaps
			paths[path] = append(paths[path], r.Method)
			paths[invalid] = append(paths[invalid], r.Method)
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/openapi.yaml", "/openapi.json"} {
		paths[path] = []string{http.MethodGet}
	}
	for path, allowed := range paths {
		allowed = append(allowed, http.MethodOptions)
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		slices.Sort(allowed)
		want := strings.Join(slices.Compact(allowed), ", ")
		for _, method := range []string{"OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO", "get"} {
			c := Case{Send: method + " " + path, NoKey: true, Want: "405 method_not_allowed", Gateway: method == "get"}
			if method == "OPTIONS" {
				c.Want = "204"
			} else if slices.Contains(allowed, method) {
				continue
			}
			for _, c := range []Case{c, c.with(bearer(s.Key))} {
				got := s.Try(t, c)
				allow := strings.Join(slices.Sorted(strings.SplitSeq(got.Header.Get("Allow"), ", ")), ", ")
				got.Assert(t, allow == want || got.StatusCode == http.StatusBadRequest, "Allow: got %q, want %q", allow, want)
			}
		}
	}
}
