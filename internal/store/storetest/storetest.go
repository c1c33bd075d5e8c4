// Package storetest tests implementations of store.Store: what the comments of the
// interface promise, and nothing that they leave open, such as gaps between identifiers.
package storetest

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/petstore/engine/fault"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// Factory opens the stores under test. Run closes them.
type Factory struct {
	// Open returns an empty store that shares nothing with the others.
	Open func(t testing.TB) store.Store

	// Reopen opens a store on the data of s, which is closed. It is nil if the data is not kept.
	Reopen func(t testing.TB, s store.Store) store.Store

	// What operators may do: Change replaces the stored pet that has the identifier of p,
	// Last makes id the last identifier in use, and Age makes an idempotency key older.
	// Remove removes a pet; it is nil if the store need not support that.
	Change func(t testing.TB, s store.Store, p pets.Pet)
	Remove func(t testing.TB, s store.Store, id int64)
	Last   func(t testing.TB, s store.Store, id int64)
	Age    func(t testing.TB, s store.Store, key pets.IdempotencyKey, by time.Duration)
}

// Run tests the stores of f. The tests run in parallel.
func Run(t *testing.T, f Factory) {
	for name, run := range map[string]func(*testing.T, Factory){
		"CreatePet":             testCreatePet,
		"Pets":                  testPets,
		"Idempotency":           testIdempotency,
		"IdempotencyConcurrent": testIdempotencyConcurrent,
		"ForgetIdempotencyKeys": testForgetIdempotencyKeys,
		"Keys":                  testKeys,
		"RecordKeyUse":          testRecordKeyUse,
		"Load":                  testLoad,
		"Close":                 testClose,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, f)
		})
	}
}

func (f Factory) open(t testing.TB) store.Store {
	s := f.Open(t)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func (f Factory) reopen(t testing.TB, s store.Store) store.Store {
	must(t, s.Close())
	s = f.Reopen(t, s)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// listQueries returns a query for all pets, and one for each filter.
func listQueries() []pets.ListQuery {
	return append(slices.Collect(maps.Values(example.Filters())), pets.ListQuery{})
}

// selected returns the pets that q selects, whatever its limit.
func selected(all []pets.Pet, q pets.ListQuery) []pets.Pet {
	return slices.DeleteFunc(slices.Clone(all), func(p pets.Pet) bool { return p.ID <= q.After || !example.Selects(q, p) })
}

// Fill creates n pets.
func Fill(t testing.TB, s store.Store, n int) {
	t.Helper()
	for range n {
		mustCreate(t, s, example.Pet())
	}
}

// text returns pets in JSON, as Fingerprint does, to compare and print them: they may hold lists and pointers.
func text(p any) string { return string(example.Must(json.Marshal(p))) }

func equal(a, b pets.Pet) bool { return text(a) == text(b) }

func mustCreate(t testing.TB, s store.Store, p pets.NewPet) pets.Pet {
	t.Helper()
	return Create(t, s, p, pets.IdempotencyKey{})
}

// Create creates p, and returns it.
func Create(t testing.TB, s store.Store, p pets.NewPet, key pets.IdempotencyKey) pets.Pet {
	t.Helper()
	pet, err := s.CreatePet(t.Context(), p, key)
	if err != nil || text(pet.NewPet) != text(p) || pet.ID < 1 || pet.ID > pets.MaxID {
		t.Fatalf("CreatePet: got %.500s, error %v, want %.500s", text(pet), err, text(p))
	}
	return pet
}

func wantPet(t testing.TB, s store.Store, want pets.Pet) {
	t.Helper()
	if got, err := s.Pet(t.Context(), want.ID); err != nil || !equal(got, want) {
		t.Errorf("Pet: got %.500s, error %v, want %.500s", text(got), err, text(want))
	}
}

// mustWalk reads all pets that q selects, page by page.
func mustWalk(t testing.TB, s store.Store, q pets.ListQuery) []pets.Pet {
	t.Helper()
	var all []pets.Pet
	for {
		page, err := s.Pets(t.Context(), q)
		if err != nil || page.More && len(page.Pets) != q.Limit {
			t.Fatalf("Pets(%+v): got %d pets, more %v, error %v", q, len(page.Pets), page.More, err)
		}
		for _, p := range page.Pets {
			if p.ID <= q.After {
				t.Fatalf("Pets(%+v): got id %d, want one greater than %d", q, p.ID, q.After)
			}
			q.After = p.ID
		}
		all = append(all, page.Pets...)
		if !page.More {
			return all
		}
	}
}

// wantAll checks that s holds exactly the pets in want.
func wantAll(t testing.TB, s store.Store, want []pets.Pet) {
	t.Helper()
	if got := mustWalk(t, s, pets.ListQuery{Limit: 100}); !slices.EqualFunc(got, want, equal) {
		t.Errorf("got %d pets %.2000s, want %d pets %.2000s", len(got), text(got), len(want), text(want))
	}
}

func wantKind(t testing.TB, what string, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != want {
		t.Errorf("%s: got error %v (%v), want %v", what, err, fault.KindOf(err), want)
	}
}

// concurrently calls f(0) to f(n-1) at once and waits for them.
func concurrently(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
