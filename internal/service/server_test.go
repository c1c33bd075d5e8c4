package service

import (
	"errors"
	"testing"
	"time"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/store/memory"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	st := memory.New()
	now := time.Now()
	for name, c := range map[string]struct {
		made   time.Time
		change func(id string) error
		want   edge.Refusal
	}{
		"expired": {now.Add(-2 * time.Hour), func(string) error { return nil }, edge.Refusal{Reason: "expired", Message: "the API key has expired"}},
		"revoked": {now, func(id string) error {
			_, err := st.RevokeKey(t.Context(), id, now)
			return err
		}, edge.Refusal{Reason: "revoked", Message: "the API key was revoked"}},
	} {
		k, token, err := keys.New(name, c.made, time.Hour)
		if err := errors.Join(err, st.CreateKey(t.Context(), k), c.change(k.ID)); err != nil {
			t.Fatal(err)
		}
		ring, err := keys.NewKeyring(st, nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&service{keyring: ring}).Authenticate(t.Context(), token)
		c.want.KeyID = k.ID
		if got, ok := errors.AsType[*edge.Refusal](err); !ok || *got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, err, c.want)
		}
	}
}
