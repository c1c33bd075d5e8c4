package storetest

import (
	"context"
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

// ledger has the pet of each create by the text of what was sent: the zero Pet if it was rejected.
type ledger struct{ sync.Map }

// create creates the pet with a number. An error may leave the outcome open only if ctx is done.
func (l *ledger) create(ctx context.Context, t testing.TB, s store.Store, number int) error {
	p := example.Numbered(number)
	pet, err := s.CreatePet(ctx, p, pets.IdempotencyKey{})
	if err == nil || fault.KindOf(err) == fault.Unavailable {
		l.Store(text(p), pet)
	} else if ctx.Err() == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("CreatePet(%s): got error %v (%v), want a pet or Unavailable", text(p), err, fault.KindOf(err))
	}
	return err
}

// check compares a walk with the ledger. Pets that are acknowledged during the walk may be missing.
func (l *ledger) check(t testing.TB, s store.Store, q pets.ListQuery) {
	t.Helper()
	results, stored := maps.Collect(l.Range), map[any]pets.Pet{}
	q.Limit = 17
	for _, p := range mustWalk(t, s, q) {
		said := text(p.NewPet)
		if _, twice := stored[said]; twice || !example.Selects(q, p) {
			t.Errorf("walk of %+v: got %s, want it once and only if it is selected", q, text(p))
		}
		stored[said] = p
	}
	for said, result := range results {
		if p := result.(pets.Pet); (p.ID == 0 || example.Selects(q, p)) && !equal(stored[said], p) {
			t.Errorf("walk of %+v: got %s for %v, want %s", q, text(stored[said]), said, text(p))
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
				must(t, s.Close())
			}
		}
	})
	if f.Reopen != nil {
		l.check(t, f.reopen(t, s), pets.ListQuery{})
	}
}

// Fixture is what EveryMethod needs in a store.
type Fixture struct {
	Pet pets.Pet
	Key keys.Key
}

// NewFixture creates a Fixture in s.
func NewFixture(t testing.TB, s store.Store) Fixture {
	t.Helper()
	return Fixture{mustCreate(t, s, example.Pet()), mustCreateKey(t, s, newKey("abcdefgh", noon))}
}

// EveryMethod calls every method of s but Failed and Close, and returns the errors.
func (f Fixture) EveryMethod(ctx context.Context, t testing.TB, s store.Store) map[string]error {
	errs := map[string]error{"Ping": s.Ping(ctx)}
	_, errs["CreatePet"] = s.CreatePet(ctx, example.Pet(), pets.IdempotencyKey{})
	_, errs["Pet"] = s.Pet(ctx, f.Pet.ID)
	_, errs["Pets"] = s.Pets(ctx, pets.ListQuery{Limit: 1})
	for filter, q := range example.Filters() {
		q.Limit = 1
		_, errs["Pets by "+filter] = s.Pets(ctx, q)
	}
	_, errs["ForgetIdempotencyKeys"] = s.ForgetIdempotencyKeys(ctx, -time.Hour)
	errs["CreateKey"] = s.CreateKey(ctx, newKey("latelate", noon))
	_, errs["Key"] = s.Key(ctx, f.Key.ID)
	_, errs["Keys"] = s.Keys(ctx)
	_, errs["RevokeKey"] = s.RevokeKey(ctx, f.Key.ID, noon)
	errs["RecordKeyUse"] = s.RecordKeyUse(ctx, map[string]time.Time{f.Key.ID: noon})
	for m := range reflect.TypeFor[store.Store]().Methods() {
		if _, called := errs[m.Name]; !called && m.Name != "Failed" && m.Name != "Close" {
			t.Errorf("EveryMethod does not call %s", m.Name)
		}
	}
	return errs
}

// testClose calls every method with a canceled context, where it may do its work or nothing, and after Close.
func testClose(t *testing.T, f Factory) {
	s := f.open(t)
	fixture := NewFixture(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := fixture.EveryMethod(ctx, t, s)
	for what, err := range errs {
		if err != nil && !fault.ByCaller(err) {
			wantKind(t, what+" with an ended context", err, fault.Unavailable)
		}
	}
	if errs["CreatePet"] != nil {
		wantAll(t, s, []pets.Pet{fixture.Pet})
	}
	if errs["CreateKey"] != nil && errs["RevokeKey"] != nil && errs["RecordKeyUse"] != nil {
		wantKeys(t, s, fixture.Key)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping: got error %v, want nil", err)
	}
	select {
	case err := <-s.Failed():
		t.Errorf("Failed: got %v, want nothing", err)
	default:
	}
	concurrently(4, func(int) { must(t, s.Close()) })
	for what, err := range fixture.EveryMethod(t.Context(), t, s) {
		wantKind(t, what+" after Close", err, fault.Unavailable)
	}
}
