package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/store/memory"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	st := memory.New()
	now := time.Now()
	for name, c := range map[string]struct {
		made   time.Time
		change func(id string) error
		want   edge.Problem
	}{
		"expired": {now.Add(-2 * time.Hour), func(string) error { return nil }, edge.Problem{Reason: "expired", Message: "the API key has expired"}},
		"revoked": {now, func(id string) error {
			_, err := st.RevokeKey(t.Context(), id, now)
			return err
		}, edge.Problem{Reason: "revoked", Message: "the API key was revoked"}},
	} {
		k, token, err := keys.New(name, c.made, time.Hour)
		if err := errors.Join(err, st.CreateKey(t.Context(), k), c.change(k.ID)); err != nil {
			t.Fatal(err)
		}
		caller, err := (&service{keyring: keys.NewKeyring(st, nil)}).Authenticate(t.Context(), token)
		got, ok := errors.AsType[*edge.Problem](err)
		if !ok || got.Reason != c.want.Reason || got.Message != c.want.Message || caller.ID != k.ID {
			t.Errorf("%s: got caller %+v, error %+v, want %+v of the key %s", name, caller, err, c.want, k.ID)
		}
	}
}

// TestLimit changes the default and the maximum of limit in the document only.
func TestLimit(t *testing.T) {
	t.Parallel()
	const token, form = "a-key-of-this-test", "maximum: %d\n            default: %d"
	schema := example.Parameter("limit")
	most, byDefault := int(*schema.Max), int(schema.Default.(float64))
	limits := fmt.Sprintf(form, most, byDefault)
	for text, want := range map[string]struct{ byDefault, most int }{limits: {byDefault, most}, fmt.Sprintf(form, 30, 7): {7, 30}} {
		st := memory.New()
		for range want.most + 1 {
			if _, err := st.CreatePet(t.Context(), example.Pet(), pets.IdempotencyKey{}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := newHandler(bytes.Replace(gen.Document, []byte(limits), []byte(text), 1), st, keys.NewKeyring(st, []string{token}), edge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for query, n := range map[string]int{"": want.byDefault, fmt.Sprint("?limit=", want.most): want.most, fmt.Sprint("?limit=", want.most+1): -1} {
			r := httptest.NewRequest("GET", example.Base()+"/pets"+query, nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			var page []api.Pet
			if err := json.Unmarshal(w.Body.Bytes(), &page); (err != nil) != (n < 0) || n >= 0 && len(page) != n {
				t.Errorf("%s, %q: got %d pets, status %d, want %d", text, query, len(page), w.Code, n)
			}
		}
	}
}
