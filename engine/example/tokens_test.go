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

// provider is an identity provider with one key, and what accepts its tokens.
type provider struct {
	tokens *Tokens
	method jwt.SigningMethod
	key    any
	public []byte
}

func newProvider(t *testing.T) provider {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // the curve is supported
	public, _ := key.PublicKey.Bytes()                        // 4, x and y
	encode := base64.RawURLEncoding.EncodeToString
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","kid":"k","alg":"ES256","use":"sig","x":%q,"y":%q}]}`,
			encode(public[1:33]), encode(public[33:]))
	}))
	t.Cleanup(server.Close)
	tokens, err := NewTokens(t.Context(), slog.New(slog.DiscardHandler), "issuer", "clinic", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return provider{tokens, jwt.SigningMethodES256, key, public}
}

// sign returns a token with these changes of valid claims; nil removes one.
func (p provider) sign(t *testing.T, changes jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{"iss": "issuer", "aud": "clinic", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range changes {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	token := jwt.NewWithClaims(p.method, claims)
	token.Header["kid"] = "k"
	text, err := token.SignedString(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestCallers sends tokens that must be rejected. TestContract sends others.
func TestCallers(t *testing.T) {
	p := newProvider(t)
	h := newHandler(t, openTest(t, stores["sqlite"]), p.tokens)
	for name, token := range map[string]string{
		"no token":           "a.b.c",
		"never expires":      p.sign(t, jwt.MapClaims{"exp": nil}),
		"not yet valid":      p.sign(t, jwt.MapClaims{"nbf": time.Now().Add(time.Minute).Unix()}),
		"audience":           p.sign(t, jwt.MapClaims{"aud": "other"}),
		"issuer":             p.sign(t, jwt.MapClaims{"iss": "other"}),
		"no subject":         p.sign(t, jwt.MapClaims{"sub": nil}),
		"public key as HMAC": provider{method: jwt.SigningMethodHS256, key: p.public}.sign(t, nil),
		"algorithm none":     provider{method: jwt.SigningMethodNone, key: jwt.UnsafeAllowNoneSignatureType}.sign(t, nil),
		"changed":            strings.Replace(p.sign(t, nil), ".", ".A", 1),
	} {
		r, w := httptest.NewRequest("GET", "/v1/patients", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer "+token)
		if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: got %d %s, want 401", name, w.Code, w.Body)
		}
	}
	if _, err := NewTokens(t.Context(), slog.New(slog.DiscardHandler), "issuer", "clinic", "http://127.0.0.1:1"); err == nil {
		t.Error("no provider: got no error")
	}
}
