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

// readable returns the target of the first operation that only reads, needs a key and no parameter, or "".
func (s *Suite) readable() string {
	for _, r := range s.operations {
		if r.Method == http.MethodGet && !needsNoKey(r) && request(r, "") == "GET "+r.Path {
			return r.Path
		}
	}
	return ""
}

// reach stops the test if the response to one request shows that there is nothing to test.
func (s *Suite) reach(t *testing.T, target string) {
	got := s.do(Case{Send: "GET " + target + "\n" + bearer(s.Key)})
	if got.err != nil {
		s.fatal(t, "got no response: %v", got.err)
	}
	_, schema := jsonBody(got.content())
	if got.StatusCode != http.StatusOK || (&openapi3.Schema{Type: schema.Type}).VisitJSON(got.value) != nil {
		s.fatal(t, "GET %s: got the status %d and %.60q: the key is refused, a proxy does not reach the service, "+
			"or it is another service, or has another path", target, got.StatusCode, got.Body)
	}
}

// authentication tests which credentials are accepted. needsKey tests each operation without any.
func (s *Suite) authentication(t *testing.T, target string) {
	read := "GET " + target + "?access_token=" + s.Key + "&api_key=" + s.Key + "\n"
	key, none := bearer(s.Key), s.noCredentials()
	for _, line := range []string{key, "authorization: bearer " + s.Key, "Authorization: Bearer  " + s.Key} {
		s.Try(t, Case{Send: read + line, NoKey: true, Want: "200"})
	}
	invalid, either := none+`, error="invalid_token"`, none+`(, error="invalid_token")?`
	body := s.Try(t, Case{Send: read + "X-Api-Key: " + s.Key, NoKey: true, Want: "401 unauthorized", Header: none}).Body
	for line, challenge := range map[string]string{
		"Authorization: ":                   none,
		"Authorization: Bearer":             none,
		"Authorization: " + s.Key:           none,
		"Authorization: Basic " + s.Key:     none,
		"Cookie: access_token=" + s.Key:     none,
		"Proxy-" + key:                      none,
		bearer("=="):                        none,
		bearer("a=b"):                       none,
		bearer("a,b"):                       none,
		bearer(`"` + s.Key + `"`):           none,
		bearer("AZaz09-._~+/=="):            invalid,
		bearer(s.UnknownKey):                invalid,
		bearer("another-api-key-for-tests"): invalid,
		key + "\n" + key:                    either,
		key + "\xff":                        either,
	} {
		isTwo := strings.Contains(line, "\n") // which a gateway may refuse
		c := Case{Send: read + line, NoKey: true, Want: "401 unauthorized", Same: body, Header: challenge, Gateway: isTwo}
		s.Try(t, c)
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
	paths := map[string][]string{
		"/livez": {"GET"}, "/readyz": {"GET"}, "/openapi.yaml": {"GET"}, "/openapi.json": {"GET"},
	}
	for _, r := range s.operations {
		_, path, _ := Case{Send: request(r, "")}.target()
		invalid := regexp.MustCompile(`{\w+}`).ReplaceAllString(r.Path, "x") // not a valid identifier, perhaps
		paths[path] = append(paths[path], r.Method)
		paths[invalid] = append(paths[invalid], r.Method)
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
