package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// everyMethod calls every method with ctx and returns the errors.
func everyMethod(ctx context.Context, s store.Store) map[string]error {
	errs := map[string]error{"Ping": s.Ping(ctx)}
	_, errs["CreatePet"] = s.CreatePet(ctx, newPet(), pets.IdempotencyKey{})
	_, errs["Pet"] = s.Pet(ctx, 1)
	for _, q := range queries {
		q.Limit = 1
		_, errs[fmt.Sprintf("Pets %+v", q)] = s.Pets(ctx, q)
	}
	_, errs["ForgetIdempotencyKeys"] = s.ForgetIdempotencyKeys(ctx, noon)
	errs["CreateKey"] = s.CreateKey(ctx, newKey("latelate", noon))
	_, errs["Key"] = s.Key(ctx, "abcdefgh")
	_, errs["Keys"] = s.Keys(ctx)
	_, errs["RevokeKey"] = s.RevokeKey(ctx, "abcdefgh", noon)
	errs["RecordKeyUse"] = s.RecordKeyUse(ctx, map[string]time.Time{"abcdefgh": noon})
	return errs
}

func testClose(t *testing.T, f Factory) {
	s := f.open(t)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping: got error %v, want nil", err)
	}
	select {
	case err := <-s.Failed():
		t.Errorf("Failed: got %v, want nothing", err)
	default:
	}
	concurrently(4, func(int) { mustClose(t, s) })
	for what, err := range everyMethod(t.Context(), s) {
		wantKind(t, what+" after Close", err, fault.Unavailable)
	}
}

// testContextEnded calls every method with a canceled context. A call may still
// succeed; if it fails, it returns Unavailable and does nothing.
func testContextEnded(t *testing.T, f Factory) {
	s := f.open(t)
	pet, key := mustCreate(t, s, newPet()), mustCreateKey(t, s, newKey("abcdefgh", noon))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := everyMethod(ctx, s)
	for what, err := range errs {
		if err != nil {
			wantKind(t, what+" with an ended context", err, fault.Unavailable)
		}
	}
	if errs["CreatePet"] != nil {
		wantAll(t, s, []pets.Pet{pet})
	}
	if errs["CreateKey"] != nil && errs["RevokeKey"] != nil && errs["RecordKeyUse"] != nil {
		wantKeys(t, s, key)
	}
	mustCreate(t, s, newPet())
}
