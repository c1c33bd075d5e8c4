package storetest

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

func lifecycle(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"A healthy store responds and has not failed", aHealthyStoreRespondsAndHasNotFailed},
		{"A closed store is unavailable", aClosedStoreIsUnavailable},
		{"Closing from many goroutines at once is harmless", closingFromManyGoroutinesAtOnceIsHarmless},
		{"Closing among callers tells each the truth or that the store is unavailable", closingAmongCallersTellsEachTheTruth},
	})
}

func aHealthyStoreRespondsAndHasNotFailed(t *testing.T, open opener) {
	s := open(t)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping of an empty store: got %v, want nil", err)
	}
	mustCreateMany(t, s, 3)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: got %v, want nil", err)
	}
	select {
	case err := <-s.Failed():
		t.Errorf("got failure %v, want none", err)
	default:
	}
}

// NotReady checks a store that an implementation has broken, so that requests fail: its
// Ping fails too, until mend has repaired it.
func NotReady(t *testing.T, s pets.Store, mend func()) {
	t.Helper()
	_, creating := s.CreatePet(t.Context(), pets.NewPet{Name: "Rex", Status: pets.Available})
	_, listing := s.Pets(t.Context(), pets.Query{Limit: 1})
	_, reading := s.Keys(t.Context())
	if creating == nil && listing == nil && reading == nil {
		t.Error("the broken store: got all it was asked for, want a call that fails")
	}
	wantKind(t, "ping of the broken store", s.Ping(t.Context()), pets.Unavailable)
	mend()
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping of the repaired store: got %v, want nil", err)
	}
}

func aClosedStoreIsUnavailable(t *testing.T, open opener) {
	s := open(t)
	pet := mustCreate(t, s, pets.NewPet{Name: "Rex", Status: pets.Available})
	key := mustCreateKey(t, s, "someone", noon, 0)
	mustClose(t, s)
	for what, err := range everyMethod(t, s, pet.ID, key) {
		wantKind(t, what, err, pets.Unavailable)
	}
	mustClose(t, s)
	for what, err := range everyMethod(t, s, pet.ID, key) {
		wantKind(t, what+" after closing twice", err, pets.Unavailable)
	}
}

func closingFromManyGoroutinesAtOnceIsHarmless(t *testing.T, open opener) {
	s := open(t)
	mustCreateMany(t, s, 3)
	each(8, func(int) { mustClose(t, s) })
}

func closingAmongCallersTellsEachTheTruth(t *testing.T, open opener) {
	s := open(t)
	first := mustCreate(t, s, pets.NewPet{Name: "first", Status: pets.Available})
	const callers = 8
	var underway, callersDone sync.WaitGroup
	underway.Add(callers)
	for i := range callers {
		callersDone.Go(func() {
			for n := 0; ; n++ {
				if n == 3 {
					underway.Done()
				}
				_, err := s.CreatePet(t.Context(), pets.NewPet{Name: strconv.Itoa(i), Status: pets.Available})
				pet, readErr := s.Pet(t.Context(), first.ID)
				if readErr == nil && pet != first {
					t.Errorf("pet %d while closing: got %#v, want %#v", first.ID, pet, first)
				}
				for _, err := range []error{err, readErr} {
					if err != nil {
						wantKind(t, "while closing", err, pets.Unavailable)
					}
				}
				if err != nil && n >= 3 {
					return
				}
			}
		})
	}
	underway.Wait()
	mustClose(t, s)
	callersDone.Wait()
}

// everyMethod calls each method that takes a context and returns the errors.
func everyMethod(t tester, s pets.Store, pet int64, k pets.Key) map[string]error {
	errs := map[string]error{"Ping": s.Ping(t.Context())}
	_, errs["CreatePet"] = s.CreatePet(t.Context(), pets.NewPet{Name: "late", Status: pets.Available})
	_, errs["Pet"] = s.Pet(t.Context(), pet)
	_, errs["Pet of an absent one"] = s.Pet(t.Context(), 0)
	_, errs["Pets"] = s.Pets(t.Context(), pets.Query{Limit: 1})
	_, errs["Pets of a status"] = s.Pets(t.Context(), pets.Query{Status: pets.Sold, Limit: 1})
	_, errs["Load"] = s.Load(t.Context(), sequence(newPets(1)))
	_, errs["LoadWithIDs"] = s.LoadWithIDs(t.Context(), sequence(gappy(1)))
	_, errs["Key"] = s.Key(t.Context(), k.ID)
	_, errs["Keys"] = s.Keys(t.Context())
	_, errs["RevokeKey"] = s.RevokeKey(t.Context(), k.ID, noon)
	errs["RecordKeyUse"] = s.RecordKeyUse(t.Context(), map[string]time.Time{k.ID: noon})
	k.ID = "another"
	errs["CreateKey"] = s.CreateKey(t.Context(), k)
	return errs
}

func mustClose(t tester, s pets.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("closing: got error %v, want nil", err)
	}
}
