package contract

import (
	"net/http"
	"strings"
)

const (
	noCredentials = `^Bearer realm="petstore"$`
	invalidToken  = `^Bearer realm="petstore", error="invalid_token"$`
	anyChallenge  = `^Bearer realm="petstore"(, error="invalid_token")?$`
)

// everyOperation tests what all operations in the document have in common.
func (s *suite) everyOperation(t runner) {
	for template, item := range s.judge.document.Paths.Map() {
		path := s.base + strings.NewReplacer("{", "", "}", "").Replace(template)
		for method, o := range item.Operations() {
			if o.Security != nil && len(*o.Security) == 0 {
				continue
			}
			t.Run(o.OperationID, func(t reporter) {
				s.expect(t, request{method: method, target: path}, want{status: 401, code: "unauthorized", header: map[string]string{"WWW-Authenticate": noCredentials}})
			})
		}
		for _, method := range []string{"PUT", "PATCH", "DELETE", "TRACE", "FOO", "get"} {
			if item.Operations()[method] != nil {
				continue
			}
			t.Run(method+" "+template, func(t reporter) {
				for _, header := range [][]string{nil, {s.auth()}} {
					s.expect(t, request{method: method, target: path, header: header}, want{status: 405, code: "method_not_allowed"})
				}
			})
		}
		t.Run("OPTIONS "+template, func(t reporter) {
			s.expect(t, request{method: http.MethodOptions, target: path}, want{status: 204})
		})
	}
}

func (s *suite) authentication(t runner) {
	for _, c := range []struct {
		name      string
		header    []string
		challenge string // "" if the request is accepted
	}{
		{"as documented", []string{s.auth()}, ""},
		{"lower case scheme", []string{"Authorization: bearer " + s.Key}, ""},
		{"no header", nil, noCredentials},
		{"an empty header", []string{"Authorization:"}, noCredentials},
		{"the key alone", []string{"Authorization: " + s.Key}, noCredentials},
		{"another scheme", []string{"Authorization: Basic " + s.Key}, noCredentials},
		{"two headers", []string{s.auth(), s.auth()}, anyChallenge},
		{"a wrong and a good header", []string{"Authorization: Bearer x", s.auth()}, anyChallenge},
		{"a list", []string{s.auth() + ", Bearer " + s.Key}, anyChallenge},
		{"invalid UTF-8", []string{"Authorization: Bearer \xff\xfe\xfd"}, anyChallenge},
		{"Proxy-Authorization", []string{"Proxy-Authorization: Bearer " + s.Key}, noCredentials},
		{"a cookie", []string{"Cookie: access_token=" + s.Key}, noCredentials},
		{"an unknown key", []string{"Authorization: Bearer another-api-key-for-tests"}, invalidToken},
		{"one character more", []string{s.auth() + "x"}, invalidToken},
		{"the key in upper case", []string{"Authorization: Bearer " + strings.ToUpper(s.Key)}, invalidToken},
		{"a wrong checksum", []string{"Authorization: Bearer psk_AAAAAAAA_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBCCCCCC"}, invalidToken},
	} {
		t.Run(c.name, func(t reporter) {
			r := request{method: "GET", target: s.base + "/pets?limit=1", header: c.header}
			if c.challenge == "" {
				s.expect(t, r, want{status: 200})
				return
			}
			s.expect(t, r, want{status: 401, code: "unauthorized", header: map[string]string{"WWW-Authenticate": c.challenge}})
		})
	}
	t.Run("in the URL", func(t reporter) {
		for _, query := range []string{"access_token=", "api_key=", "key=", "Authorization=Bearer%20"} {
			s.expect(t, request{method: "GET", target: s.base + "/pets?" + query + s.Key}, want{status: 401, code: "unauthorized"})
		}
	})
	for reason, key := range map[string]string{"expired": s.ExpiredKey, "revoked": s.RevokedKey} {
		if key == "" {
			continue
		}
		t.Run(reason, func(t reporter) {
			s.expect(t, request{method: "GET", target: s.base + "/pets", header: []string{"Authorization: Bearer " + key}}, want{
				status: 401, code: "unauthorized", message: reason,
				header: map[string]string{"WWW-Authenticate": `^Bearer realm="petstore", error="invalid_token", error_description="[^"]*` + reason + `[^"]*"$`},
			})
		})
	}
}

// authenticationFirst tests that a request for an operation without a key gets
// only a 401, whatever else is wrong with it.
func (s *suite) authenticationFirst(t runner) {
	for name, r := range map[string]request{
		"query":      {method: "GET", target: s.base + "/pets?limit=0&%zz"},
		"petId":      {method: "GET", target: s.base + "/pets/x"},
		"unknown id": {method: "GET", target: s.base + "/pets/0"},
		"body":       {method: "POST", target: s.base + "/pets", header: []string{jsonType}, body: "{"},
		"media type": {method: "POST", target: s.base + "/pets", header: []string{"Content-Type: text/plain"}, body: "x"},
		"body size":  {method: "POST", target: s.base + "/pets", header: []string{jsonType}, body: padded(65_537)},
		"header":     {method: "POST", target: s.base + "/pets", header: []string{jsonType, "Idempotency-Key:"}, body: newBody()},
	} {
		t.Run(name, func(t reporter) {
			s.expect(t, r, want{status: 401, code: "unauthorized", header: map[string]string{"WWW-Authenticate": noCredentials}})
		})
	}
}

func (s *suite) readOnlyKey(t runner) {
	if s.ReadOnlyKey == "" {
		return
	}
	auth := "Authorization: Bearer " + s.ReadOnlyKey
	t.Run("reads", func(t reporter) {
		s.expect(t, request{method: "GET", target: s.base + "/pets?limit=1", header: []string{auth}}, want{status: 200})
		s.expect(t, request{method: "HEAD", target: s.base + "/pets?limit=1", header: []string{auth}}, want{status: 200})
		s.expect(t, request{method: "GET", target: s.base + "/pets/0", header: []string{auth}}, want{status: 404})
	})
	// 403 comes before 400, 413 and 415.
	for name, r := range map[string]request{
		"valid body":   {header: []string{jsonType}, body: newBody()},
		"invalid body": {header: []string{jsonType}, body: "{"},
		"media type":   {header: []string{"Content-Type: text/plain"}, body: newBody()},
		"body size":    {header: []string{jsonType}, body: padded(65_537)},
	} {
		t.Run(name, func(t reporter) {
			r.method, r.target = "POST", s.base+"/pets"
			s.expect(t, r.with(auth), want{status: 403, code: "forbidden"})
		})
	}
}
