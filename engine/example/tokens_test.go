package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestCallers sends fixed keys, and tokens of a provider with one key.
func TestCallers(t *testing.T) {
	mine, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // the curve is supported
	other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	public, _ := mine.PublicKey.Bytes() // 4, x and y
	encode := base64.RawURLEncoding.EncodeToString
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","kid":"k","alg":"ES256","use":"sig","x":%q,"y":%q}]}`,
			encode(public[1:33]), encode(public[33:]))
	}))
	defer provider.Close()
	tokens, err := NewTokens(t.Context(), slog.New(slog.DiscardHandler), "issuer", "clinic", provider.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, openTest(t, stores["sqlite"]), tokens)

	// sign returns a token with these changes of valid claims; nil removes one.
	sign := func(method jwt.SigningMethod, key any, changes jwt.MapClaims) string {
		claims := jwt.MapClaims{"iss": "issuer", "aud": "clinic", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}
		for name, value := range changes {
			claims[name] = value
			if value == nil {
				delete(claims, name)
			}
		}
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = "k"
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	valid := sign(jwt.SigningMethodES256, mine, nil)
	past, future := time.Now().Add(-time.Minute).Unix(), time.Now().Add(time.Minute).Unix()
	for name, c := range map[string]struct {
		token, request string
		want           int
	}{
		"valid":              {valid, "GET /v1/patients", 200},
		"no scope":           {valid, "DELETE /v1/patients/1", 403},
		"scope":              {sign(jwt.SigningMethodES256, mine, jwt.MapClaims{"scope": "a clinic:write"}), "DELETE /v1/patients/1", 404},
		"fixed key":          {key, "DELETE /v1/patients/1", 404},
		"read-only key":      {readKey, "DELETE /v1/patients/1", 403},
		"no key":             {"", "GET /v1/patients", 401},
		"no key needed":      {"", "GET /v1/clinic", 200},
		"no token":           {"a.b.c", "GET /v1/patients", 401},
		"expired":            {sign(jwt.SigningMethodES256, mine, jwt.MapClaims{"exp": past}), "GET /v1/patients", 401},
		"never expires":      {sign(jwt.SigningMethodES256, mine, jwt.MapClaims{"exp": nil}), "GET /v1/patients", 401},
		"not yet valid":      {sign(jwt.SigningMethodES256, mine, jwt.MapClaims{"nbf": future}), "GET /v1/patients", 401},
		"audience":           {sign(jwt.SigningMethodES256, mine, jwt.MapClaims{"aud": "other"}), "GET /v1/patients", 401},
		"issuer":             {sign(jwt.SigningMethodES256, mine, jwt.MapClaims{"iss": "other"}), "GET /v1/patients", 401},
		"no subject":         {sign(jwt.SigningMethodES256, mine, jwt.MapClaims{"sub": nil}), "GET /v1/patients", 401},
		"another key":        {sign(jwt.SigningMethodES256, other, nil), "GET /v1/patients", 401},
		"public key as HMAC": {sign(jwt.SigningMethodHS256, public, nil), "GET /v1/patients", 401},
		"algorithm none":     {sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil), "GET /v1/patients", 401},
		"changed":            {strings.Replace(valid, ".", ".A", 1), "GET /v1/patients", 401},
	} {
		w := do(h, c.token, c.request, "")
		if w.Code != c.want {
			t.Errorf("%s: got %d %s, want %d", name, w.Code, w.Body, c.want)
		}
		if says := w.Header().Get("Www-Authenticate"); name == "expired" && !strings.Contains(says, "the token has expired") {
			t.Errorf("%s: got the challenge %q", name, says)
		}
	}
	if _, err := NewTokens(t.Context(), slog.New(slog.DiscardHandler), "issuer", "clinic", "http://127.0.0.1:1"); err == nil {
		t.Error("no provider: got no error")
	}
}
