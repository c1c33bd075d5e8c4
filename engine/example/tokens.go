package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/fault"
)

// Tokens authenticates the callers of an identity provider by their tokens (JWT).
type Tokens struct {
	keys   keyfunc.Keyfunc
	parser *jwt.Parser
}

// NewTokens accepts the tokens that issuer has signed for audience. It fetches the
// provider's keys from the address keySet, and again every five minutes until ctx ends.
func NewTokens(ctx context.Context, log *slog.Logger, issuer, audience, keySet string) (*Tokens, error) {
	storage, err := jwkset.NewStorageFromHTTP(keySet, jwkset.HTTPClientStorageOptions{
		Ctx: ctx, HTTPTimeout: 5 * time.Second, RefreshInterval: 5 * time.Minute,
		RefreshErrorHandler: func(_ context.Context, err error) {
			log.Error("keys for tokens could not be fetched; the old ones stay", "error", err)
		},
	})
	if err != nil {
		return nil, err
	}
	keys, err := keyfunc.New(keyfunc.Options{Storage: storage})
	return &Tokens{keys, jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256", "ES256"}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(30*time.Second),
	)}, err
}

// Authenticate returns the caller of a token, who may write with the scope clinic:write.
func (t *Tokens) Authenticate(token string) (edge.Caller, error) {
	var claims struct {
		jwt.RegisteredClaims
		Scope string `json:"scope"`
	}
	_, err := t.parser.ParseWithClaims(token, &claims, t.keys.Keyfunc)
	mayWrite := slices.Contains(strings.Fields(claims.Scope), "clinic:write")
	caller := edge.Caller{ID: "sub:" + claims.Subject, MayWrite: mayWrite}
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return caller, &fault.Error{Kind: fault.Unauthorized, Reason: "expired", Message: "the token has expired"}
	case err != nil || claims.Subject == "":
		return edge.Caller{}, &fault.Error{Kind: fault.Unauthorized, Reason: "invalid"}
	}
	return caller, nil
}
