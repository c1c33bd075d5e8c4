package storetest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// ledger has the pet of each create by what was sent: the zero Pet if it was rejected.
type ledger struct{ sync.Map }

// create creates the pet with a number. An error may leave the outcome open only if ctx is done.
func (l *ledger) create(ctx context.Context, t testing.TB, s store.Store, number int) error {
	p := example.Numbered(number)
	pet, err := s.CreatePet(ctx, p, pets.IdempotencyKey{})
	if err == nil || fault.KindOf(err) == fault.Unavailable {
		l.Store(fmt.Sprint(p), pet)
	} else if ctx.Err() == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("CreatePet(%+v): got error %v (%v), want a pet or Unavailable", p, err, fault.KindOf(err))
	}
	return err
}

// check compares a walk with the ledger. Pets that are acknowledged during the walk may be missing.
func (l *ledger) check(t testing.TB, s store.Store, q pets.ListQuery) {
	t.Helper()
	results, stored := maps.Collect(l.Range), map[any]pets.Pet{}
	q.Limit = 17
	for _, p := range mustWalk(t, s, q) {
		said := fmt.Sprint(p.NewPet)
		if _, twice := stored[said]; twice || !example.Selects(q, p) {
			t.Errorf("walk of %+v: got %v, want it once and only if it is selected", q, p)
		}
		stored[said] = p
	}
	for said, result := range results {
		if p := result.(pets.Pet); (p.ID == 0 || example.Selects(q, p)) && !equal(stored[said], p) {
			t.Errorf("walk of %+v: got %v for %v, want %v", q, stored[said], said, p)
		}
	}
}

// testLoad creates pets concurrently and walks over them meanwhile, then closes the store. Every
// other client goes away, at different moments: while its create waits, runs or is committed.
func testLoad(t *testing.T, f Factory) {
	s := f.open(t)
	const writers, creates = 8, 25
	var (
		l       ledger
		running atomic.Int32
		filters = listQueries()
	)
	running.Store(writers)
	concurrently(writers+3, func(i int) {
		if i >= writers {
			for running.Load() > 0 {
				l.check(t, s, filters[i%len(filters)])
			}
			return
		}
		defer running.Add(-1)
		for n := range creates {
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 0 {
				time.AfterFunc(time.Microsecond<<(2*n/3), cancel)
			}
			if err := l.create(ctx, t, s, n*writers+i); err != nil && i%2 == 1 {
				t.Errorf("CreatePet: got error %v, want none", err)
			}
			cancel()
		}
	})
	mustCreate(t, s, example.Pet()) // nothing is in progress after it
	l.check(t, s, pets.ListQuery{})
	concurrently(writers, func(i int) {
		for n := creates; l.create(t.Context(), t, s, n*writers+i) == nil; n++ {
			if i == 0 && n == 2*creates {
				mustClose(t, s)
			}
		}
	})
	if f.Reopen != nil {
		l.check(t, f.reopen(t, s), pets.ListQuery{})
	}
}

// Fixture creates what EveryMethod needs: a pet, and a key with the ID abcdefgh.
func Fixture(t testing.TB, s store.Store) (pets.Pet, keys.Key) {
	t.Helper()
	pet := mustCreate(t, s, example.Pet())
	return pet, mustCreateKey(t, s, newKey("abcdefgh", noon))
}

// EveryMethod calls every method but Failed and Close on a store with a Fixture, and returns the errors.
func EveryMethod(ctx context.Context, t testing.TB, s store.Store) map[string]error {
	errs := map[string]error{"Ping": s.Ping(ctx)}
	_, errs["CreatePet"] = s.CreatePet(ctx, example.Pet(), pets.IdempotencyKey{})
	_, errs["Pet"] = s.Pet(ctx, 1)
	_, errs["Pets"] = s.Pets(ctx, pets.ListQuery{Limit: 1})
	for filter, q := range example.Filters() {
		q.Limit = 1
		_, errs["Pets by "+filter] = s.Pets(ctx, q)
	}
	_, errs["ForgetIdempotencyKeys"] = s.ForgetIdempotencyKeys(ctx, -time.Hour)
	errs["CreateKey"] = s.CreateKey(ctx, newKey("latelate", noon))
	_, errs["Key"] = s.Key(ctx, "abcdefgh")
	_, errs["Keys"] = s.Keys(ctx)
	_, errs["RevokeKey"] = s.RevokeKey(ctx, "abcdefgh", noon)
	errs["RecordKeyUse"] = s.RecordKeyUse(ctx, map[string]time.Time{"abcdefgh": noon})
	for m := range reflect.TypeFor[store.Store]().Methods() {
		if _, called := errs[m.Name]; !called && m.Name != "Failed" && m.Name != "Close" {
			t.Errorf("EveryMethod does not call %s", m.Name)
		}
	}
	return errs
}

// testClose calls every method with a canceled context, where it may succeed or do nothing, and after Close.
func testClose(t *testing.T, f Factory) {
	s := f.open(t)
	pet, key := Fixture(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := EveryMethod(ctx, t, s)
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
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping: got error %v, want nil", err)
	}
	select {
	case err := <-s.Failed():
		t.Errorf("Failed: got %v, want nothing", err)
	default:
	}
	concurrently(4, func(int) { mustClose(t, s) })
	for what, err := range EveryMethod(t.Context(), t, s) {
		wantKind(t, what+" after Close", err, fault.Unavailable)
	}
}
