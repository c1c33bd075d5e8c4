package service

import (
	"errors"
	"testing"
	"time"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/store/memory"
)

// TestRefusedKey tests what the log and the metrics say of a key that has expired.
func TestRefusedKey(t *testing.T) {
	st := memory.New()
	k, token, err := keys.New("expired", time.Now().Add(-2*time.Hour), time.Hour)
	if err := errors.Join(err, st.CreateKey(t.Context(), k)); err != nil {
		t.Fatal(err)
	}
	caller, err := (&service{keyring: keys.NewKeyring(st, nil)}).Authenticate(t.Context(), token)
	if got, ok := errors.AsType[*edge.Problem](err); !ok || got.Reason != "expired" || caller.ID != k.ID {
		t.Errorf("got caller %+v, error %+v, want expired of the key %s", caller, err, k.ID)
	}
}
