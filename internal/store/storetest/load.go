package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

func testLoad(t *testing.T, f Factory) {
	s := f.open(t)
	all := []pets.Pet{mustCreate(t, s, newPet())}
	// The last batch is larger than any store's statement, page or buffer.
	for _, batch := range [][]pets.NewPet{nil, newPets(1), oddPets(), newPets(400)} {
		all = append(all, mustLoad(t, s, batch)...)
		pet := mustCreate(t, s, newPet())
		if last := all[len(all)-1]; pet.ID <= last.ID {
			t.Errorf("CreatePet after Load: got id %d, want one greater than %d", pet.ID, last.ID)
		}
		all = append(all, pet)
	}
	for _, status := range filters {
		if got, want := mustWalk(t, s, status, 100), ofStatus(all, status); !slices.EqualFunc(got, want, equal) {
			t.Errorf("walk of status %q: got %d pets, want %d", status, len(got), len(want))
		}
	}
}

// testLoadFails checks that failed loads leave the store empty. Package pets tests
// the rules.
func testLoadFails(t *testing.T, f Factory) {
	s := f.open(t)
	some := petsWithGaps(3)
	end := some[2].ID
	invalid := named("a\x00b", pets.Sold)
	for _, last := range []pets.Pet{invalid.WithID(end + 1), newPet().WithID(end), newPet().WithID(pets.MaxID + 1)} {
		n, err := s.LoadWithIDs(t.Context(), sequence(append(petsWithGaps(3), last), nil))
		wantFailure(t, fmt.Sprintf("LoadWithIDs with %v", last), n, err, pets.Invalid)
	}
	n, err := s.Load(t.Context(), sequence(append(newPets(3), invalid), nil))
	wantFailure(t, "Load of an invalid pet", n, err, pets.Invalid)
	broken := errors.New("the file broke off")
	if n, err := s.Load(t.Context(), sequence(newPets(300), broken)); n != 0 || err != broken {
		t.Errorf("Load of a sequence with an error: got %d, error %v, want 0 and the same error", n, err)
	}
	if n, err := s.LoadWithIDs(t.Context(), sequence(petsWithGaps(300), broken)); n != 0 || err != broken {
		t.Errorf("LoadWithIDs of a sequence with an error: got %d, error %v, want 0 and the same error", n, err)
	}
	wantAll(t, s, nil)
	mustLoadWithIDs(t, s, some)
	wantAll(t, s, some)
}

func wantFailure(t testing.TB, what string, n int, err error, want pets.Kind) {
	t.Helper()
	wantKind(t, what, err, want)
	if n != 0 {
		t.Errorf("%s: got %d with the error, want 0", what, n)
	}
}

// testLoadIsAtomic reads and creates while a load is in progress.
func testLoadIsAtomic(t *testing.T, f Factory) {
	s := f.open(t)
	before := []pets.Pet{mustCreate(t, s, newPet())}
	const n = 1000
	last, finish, loaded := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
			for i, p := range newPets(n) {
				if i == n-1 {
					close(last)
					<-finish
				}
				if !yield(p, nil) {
					return
				}
			}
		})
		loaded <- err
	}()
	select {
	case <-last:
	case err := <-loaded:
		t.Fatalf("Load: got error %v before the last pet", err)
	}
	wantAll(t, s, before)
	wantPet(t, s, before[0])

	// A create may have to wait for the load, but not beyond its own deadline.
	once, created := newPetOnce(), make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := s.CreatePet(ctx, once)
		created <- err
	}()
	select {
	case err := <-created:
		if err != nil && pets.KindOf(err) != pets.Internal {
			wantKind(t, "CreatePet during Load", err, pets.Unavailable)
		}
	case <-time.After(20 * time.Second):
		t.Error("CreatePet during Load: got no answer long after its context ended")
	}
	close(finish)
	if err := <-loaded; err != nil {
		t.Fatalf("Load: got error %v", err)
	}
	mustCreate(t, s, once) // a retry, or the first success
	if got, want := len(mustWalk(t, s, "", 1000)), 2+n; got != want {
		t.Errorf("after Load: got %d pets, want %d", got, want)
	}
}

func testLoadWithIDs(t *testing.T, f Factory) {
	s := f.open(t)
	mustLoadWithIDs(t, s, nil)
	all := petsWithGaps(30)
	for i, p := range oddPets() {
		all[i] = p.WithID(all[i].ID)
	}
	mustLoadWithIDs(t, s, all)
	wantAll(t, s, all)
	for _, p := range all[:20] {
		wantPet(t, s, p)
		_, err := s.Pet(t.Context(), p.ID+1)
		wantKind(t, "Pet between two", err, pets.NotFound)
	}
	n, err := s.LoadWithIDs(t.Context(), sequence([]pets.Pet{newPet().WithID(pets.MaxID)}, nil))
	if n != 0 || !errors.Is(err, pets.ErrNotEmpty) {
		t.Errorf("LoadWithIDs into a store with pets: got %d, error %v, want 0 and ErrNotEmpty", n, err)
	}
	pet := mustCreate(t, s, newPet())
	if last := all[len(all)-1]; pet.ID <= last.ID {
		t.Errorf("CreatePet after LoadWithIDs: got id %d, want one greater than %d", pet.ID, last.ID)
	}
	all = append(all, pet)
	all = append(all, mustLoad(t, s, newPets(2))...)
	wantAll(t, s, all)
}

func testLoadWithIDsConcurrent(t *testing.T, f Factory) {
	s := f.open(t)
	var errs [4]error
	concurrently(len(errs), func(i int) {
		_, errs[i] = s.LoadWithIDs(t.Context(), sequence(petsWithGaps(200), nil))
	})
	loaded := 0
	for _, err := range errs {
		if err == nil {
			loaded++
		} else if !errors.Is(err, pets.ErrNotEmpty) && pets.KindOf(err) != pets.Unavailable {
			t.Errorf("concurrent LoadWithIDs: got error %v, want ErrNotEmpty", err)
		}
	}
	if loaded != 1 {
		t.Errorf("LoadWithIDs: got %d that succeeded, want 1: %v", loaded, errs)
	}
	wantAll(t, s, petsWithGaps(200))
}

func testMaxID(t *testing.T, f Factory) {
	s := f.open(t)
	all := []pets.Pet{newPet().WithID(pets.MaxID - 2)}
	mustLoadWithIDs(t, s, all)
	n, err := s.Load(t.Context(), sequence(newPets(300), nil))
	wantFailure(t, "Load of more pets than identifiers are left", n, err, pets.Internal)
	wantAll(t, s, all)
	for range 3 { // at most two; gaps are allowed
		var pet pets.Pet
		if pet, err = s.CreatePet(t.Context(), newPet()); err != nil {
			break
		}
		all = append(all, pet)
	}
	wantKind(t, "CreatePet after the last identifier", err, pets.Internal)
	n, err = s.Load(t.Context(), sequence(newPets(1), nil))
	wantFailure(t, "Load after the last identifier", n, err, pets.Internal)
	wantAll(t, s, all)
}
