package contract

import "strings"

const (
	noCredentials = `^Bearer realm="petstore"$`
	invalidToken  = `^Bearer realm="petstore", error="invalid_token"$`
	anyChallenge  = `^Bearer realm="petstore"(, error="invalid_token")?$`
)

func (s *suite) authentication(t runner) {
	type row struct {
		name      string
		header    []string
		challenge string // "" if the request is accepted
	}
	rows := []row{
		{"as documented", []string{s.auth()}, ""},
		{"no header", nil, noCredentials},
		{"the key alone", []string{"Authorization: " + s.Key}, noCredentials},
		{"two headers", []string{s.auth(), s.auth()}, anyChallenge},
		{"a cookie", []string{"Cookie: access_token=" + s.Key}, noCredentials},
		{"an unknown key", []string{"Authorization: Bearer another-api-key-for-tests"}, invalidToken},
		{"one character more", []string{s.auth() + "x"}, invalidToken},
		{"the key in upper case", []string{"Authorization: Bearer " + strings.ToUpper(s.Key)}, invalidToken},
		{"a wrong checksum", []string{"Authorization: Bearer psk_AAAAAAAA_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBCCCCCC"}, invalidToken},
	}
	if s.ReadOnlyKey != "" {
		rows = append(rows, row{"a key that may only read", []string{"Authorization: Bearer " + s.ReadOnlyKey}, ""})
	}
	for _, c := range rows {
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
