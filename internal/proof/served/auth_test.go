package served_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/proof/petstoretest"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
)

const (
	noCredentials = `Bearer realm="petstore"`
	invalidToken  = `Bearer realm="petstore", error="invalid_token"`
)

func TestOneWellFormedAuthorizationHeaderOpensTheServiceAndNothingElseDoes(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		header    []string
		challenge string // "" where the key is accepted
	}{
		"as documented":                 {[]string{withKey}, ""},
		"scheme in lower case":          {[]string{"Authorization: bearer " + key}, ""},
		"scheme in upper case":          {[]string{"Authorization: BEARER " + key}, ""},
		"header name in another case":   {[]string{"AUTHORIZATION: Bearer " + key}, ""},
		"several spaces":                {[]string{"Authorization: Bearer    " + key}, ""},
		"spaces around":                 {[]string{"Authorization:   Bearer " + key + "   "}, ""},
		"no header":                     {nil, noCredentials},
		"an empty header":               {[]string{"Authorization:"}, noCredentials},
		"the scheme alone":              {[]string{"Authorization: Bearer"}, noCredentials},
		"the scheme and a space":        {[]string{"Authorization: Bearer "}, noCredentials},
		"the key alone":                 {[]string{"Authorization: " + key}, noCredentials},
		"a tab for the space":           {[]string{"Authorization: Bearer\t" + key}, noCredentials},
		"another scheme":                {[]string{"Authorization: Basic " + key}, noCredentials},
		"a scheme that begins alike":    {[]string{"Authorization: Bearers " + key}, noCredentials},
		"a list":                        {[]string{"Authorization: Bearer " + key + ", Bearer " + key}, noCredentials},
		"two keys":                      {[]string{"Authorization: Bearer " + key + " " + key}, noCredentials},
		"quotes":                        {[]string{`Authorization: Bearer "` + key + `"`}, noCredentials},
		"two headers":                   {[]string{withKey, withKey}, noCredentials},
		"a good and an empty header":    {[]string{withKey, "Authorization:"}, noCredentials},
		"non-ASCII":                     {[]string{"Authorization: Bearer schlüssel-schlüssel"}, noCredentials},
		"invalid UTF-8":                 {[]string{"Authorization: Bearer \xff\xfe\xfd"}, noCredentials},
		"only equals signs":             {[]string{"Authorization: Bearer ===="}, noCredentials},
		"a proxy's header":              {[]string{"Proxy-Authorization: Bearer " + key}, noCredentials},
		"a cookie":                      {[]string{"Cookie: access_token=" + key}, noCredentials},
		"an unknown key":                {[]string{"Authorization: Bearer another-api-key-for-tests"}, invalidToken},
		"the key and one character":     {[]string{withKey + "x"}, invalidToken},
		"the key but one character":     {[]string{strings.TrimSuffix(withKey, "s")}, invalidToken},
		"the key in another case":       {[]string{"Authorization: Bearer " + strings.ToUpper(key)}, invalidToken},
		"one character":                 {[]string{"Authorization: Bearer x"}, invalidToken},
		"a token of 10 KB":              {[]string{"Authorization: Bearer " + strings.Repeat("x", 10_000)}, invalidToken},
		"the form of a key, not one":    {[]string{"Authorization: Bearer psk_AAAAAAAA_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBCCCCCC"}, invalidToken},
		"another key with equals signs": {[]string{withKey + "=="}, invalidToken},
	} {
		t.Run(name, func(t *testing.T) {
			resp := s.send(t, "GET", petsPath, "", c.header...)
			if c.challenge == "" {
				resp.wants(t, 200, "", "")
				return
			}
			resp.wants(t, 401, "unauthorized", "a valid API key is required")
			if got := resp.Header.Get("WWW-Authenticate"); got != c.challenge {
				t.Errorf("WWW-Authenticate: got %s, want %s", got, c.challenge)
			}
		})
	}
}

func TestAKeyInTheURLIsNoKey(t *testing.T) {
	s := start(t)
	for _, query := range []string{"access_token=", "api_key=", "key=", "Authorization=Bearer%20"} {
		resp := s.send(t, "GET", petsPath+"?"+query+key, "")
		resp.wants(t, 401, "unauthorized", "")
	}
}

// storedKey makes a key in the server's store.
func storedKey(t *testing.T, s *server, now time.Time, lifetime time.Duration) (pets.Key, string) {
	t.Helper()
	k, token, err := pets.NewKey("test", now, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.CreateKey(context.Background(), k); err != nil {
		t.Fatal(err)
	}
	return k, "Authorization: Bearer " + token
}

func TestAKeyOfTheStoreOpensTheServiceUnlessItIsRevokedOrExpired(t *testing.T) {
	s := start(t)
	_, good := storedKey(t, s, time.Now(), 0)
	_, expired := storedKey(t, s, time.Now().Add(-time.Hour), time.Minute)
	k, revoked := storedKey(t, s, time.Now(), 0)
	if _, err := s.store.RevokeKey(context.Background(), k.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.send(t, "GET", petsPath, "", good).wants(t, 200, "", "")
	for header, want := range map[string]string{expired: "the API key has expired", revoked: "the API key was revoked"} {
		resp := s.send(t, "GET", petsPath, "", header)
		resp.wants(t, 401, "unauthorized", want)
		if got, want := resp.Header.Get("WWW-Authenticate"), invalidToken+`, error_description="`+want+`"`; got != want {
			t.Errorf("WWW-Authenticate: got %s, want %s", got, want)
		}
	}
}

// The client hears of a reason only where its secret is right; the operator of all.
func TestTheLogHasTheReasonOfEach401AndTheKeyThatWasRecognised(t *testing.T) {
	s := start(t)
	k, expired := storedKey(t, s, time.Now().Add(-time.Hour), time.Minute)
	r, revoked := storedKey(t, s, time.Now(), 0)
	if _, err := s.store.RevokeKey(t.Context(), r.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ header, reason, key string }{
		{"Accept: */*", "missing", ""},
		{"Authorization: Basic x", "malformed", ""},
		{"Authorization: Bearer another-api-key-for-tests", "unknown", ""},
		{expired, "expired", k.ID},
		{revoked, "revoked", r.ID},
	} {
		s.send(t, "GET", petsPath, "", c.header).wants(t, 401, "unauthorized", "")
		line := s.log.wantLines(t, i+1)[i]
		if line["reason"] != c.reason || line["key"] != c.key {
			t.Errorf("%s: got reason %v, key %v in the log, want %q, %q", c.header, line["reason"], line["key"], c.reason, c.key)
		}
	}
}

func TestAll401BodiesWithoutARightSecretAreTheSame(t *testing.T) {
	s := start(t)
	first := s.send(t, "GET", petsPath, "").body
	for _, resp := range []response{
		s.send(t, "GET", petsPath, "", "Authorization: Bearer wrong-wrong-wrong-wrong"),
		s.send(t, "GET", petsPath, "", withKey, withKey),
		s.send(t, "GET", petsPath+"/1", ""),
		s.send(t, "POST", petsPath, frank, isJSON),
	} {
		if string(resp.body) != string(first) {
			t.Errorf("401 body: got %s, want %s", resp.body, first)
		}
	}
}

func TestTheKeyIsCheckedBeforeAnythingElseOfAnOperation(t *testing.T) {
	s := start(t)
	for name, resp := range map[string]response{
		"a bad query":         s.send(t, "GET", petsPath+"?limit=0&%zz", ""),
		"a bad id":            s.send(t, "GET", petsPath+"/x", ""),
		"an unknown id":       s.send(t, "GET", petsPath+"/999", ""),
		"a bad body":          s.send(t, "POST", petsPath, "{", isJSON),
		"a wrong media type":  s.send(t, "POST", petsPath, "x", "Content-Type: text/plain"),
		"a body far too long": s.send(t, "POST", petsPath, "", isJSON, "Content-Length: 99999999"),
	} {
		t.Run(name, func(t *testing.T) { resp.wants(t, 401, "unauthorized", "") })
	}
}

func TestRoutingComesBeforeTheKey(t *testing.T) {
	s := start(t)
	s.send(t, "GET", "/v1/nothing", "").wants(t, 404, "not_found", "")
	s.send(t, "DELETE", petsPath, "").wants(t, 405, "method_not_allowed", "")
	s.send(t, "OPTIONS", petsPath, "").wants(t, 204, "", "")
	s.send(t, "GET", "/livez", "").wants(t, 200, "", "")
}

func TestAnUnreachableKeyStoreIs503AndNever401(t *testing.T) {
	s := start(t, func(c *petstoretest.Config) {
		c.Authenticate = func(context.Context, string) (edge.Identity, error) {
			return edge.Identity{}, errors.New("dial tcp 10.0.0.1:5432: connection refused")
		}
	})
	s.get(t, petsPath).wants(t, 503, "unavailable", "try again later")
	s.send(t, "GET", petsPath, "").wants(t, 401, "unauthorized", "")
	lines := s.log.wantLines(t, 2)
	if got, _ := lines[0]["error"].(string); !strings.Contains(got, "connection refused") {
		t.Errorf("log: got error %q, want the cause of the 503", got)
	}
}

func TestAuthenticateHearsOfTheRequestsEnd(t *testing.T) {
	ended := make(chan error, 1)
	s := start(t, func(c *petstoretest.Config) {
		c.Authenticate = func(ctx context.Context, _ string) (edge.Identity, error) {
			select {
			case <-ctx.Done():
				ended <- ctx.Err()
			case <-time.After(patience):
				ended <- nil
			}
			return edge.Identity{}, ctx.Err()
		}
	})
	conn := s.dial(t)
	if _, err := conn.Write([]byte("GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n" + withKey + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context after the client left: got %v, want canceled", err)
	}
}

func TestHEADNeedsTheKeyToo(t *testing.T) {
	s := start(t)
	s.send(t, http.MethodHead, petsPath, "").wants(t, 401, "", "")
	s.send(t, http.MethodHead, petsPath, "", withKey).wants(t, 200, "", "")
}

func TestAReadOnlyKeyReadsAndAddsNothing(t *testing.T) {
	s := start(t)
	k, token, err := pets.NewKey("reader", time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	k.ReadOnly = true
	if err := s.store.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	reader := "Authorization: Bearer " + token
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		s.send(t, method, petsPath, "", reader).wants(t, 200, "", "")
	}
	// 403 comes before anything is said of the body, which is not read.
	for name, header := range map[string][]string{
		"a sound body":         {reader, isJSON, "Content-Length: 30"},
		"another media type":   {reader, "Content-Type: text/plain", "Content-Length: 30"},
		"a body that is large": {reader, isJSON, "Content-Length: 1000000"},
	} {
		resp := s.send(t, http.MethodPost, petsPath, "", header...)
		resp.wants(t, 403, "forbidden", "this API key may only read")
		if got, want := resp.Header.Get("WWW-Authenticate"), `Bearer realm="petstore", error="insufficient_scope"`; got != want {
			t.Errorf("%s: WWW-Authenticate: got %s, want %s", name, got, want)
		}
		if !resp.Close {
			t.Errorf("%s: got the connection kept, want Connection: close for the unread body", name)
		}
	}
	for _, line := range s.log.wantLines(t, 5) {
		if line["key"] != k.ID {
			t.Errorf("log: got key %v, want %s", line["key"], k.ID)
		}
	}
	if page, err := s.store.Pets(t.Context(), pets.Query{Limit: 1}); err != nil || len(page.Pets) > 0 {
		t.Errorf("pets: got %v (%v), want none", page.Pets, err)
	}
}
