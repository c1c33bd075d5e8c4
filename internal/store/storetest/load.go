package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
		all = append(all, mustCreate(t, s, newPet())) // with the greatest identifier
	}
	for _, status := range filters {
		wantWalk(t, s, all, status, 100)
	}
}

// testLoadFails checks that failed loads leave the store empty.
func testLoadFails(t *testing.T, f Factory) {
	s := f.open(t)
	some := petsWithGaps(3)
	end := some[2].ID
	invalid := named("a\x00b", pets.Sold)
	for _, last := range []pets.Pet{invalid.WithID(end + 1), newPet().WithID(0), newPet().WithID(end - 1), newPet().WithID(end), newPet().WithID(pets.MaxID + 1)} {
		n, err := s.LoadWithIDs(t.Context(), sequence(append(petsWithGaps(3), last), nil))
		wantFailure(t, fmt.Sprintf("LoadWithIDs with %v", last), n, err, pets.Invalid)
		if err != nil && !strings.HasPrefix(err.Error(), "pet 4: ") {
			t.Errorf("LoadWithIDs with %v: got error %v, want one that names pet 4", last, err)
		}
	}
	n, err := s.Load(t.Context(), sequence(append(newPets(3), invalid), nil))
	wantFailure(t, "Load of an invalid pet", n, err, pets.Invalid)
	broken := errors.New("the file broke off")
	if n, err := s.Load(t.Context(), sequence(newPets(300), broken)); n != 0 || err != broken {
		t.Errorf("Load of a sequence with an error: got %d, error %v, want 0 and the same error", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, err = s.Load(ctx, func(yield func(pets.NewPet, error) bool) {
		for range 1000 {
			if !yield(newPet(), nil) {
				return
			}
		}
		cancel()
		yield(newPet(), nil)
	})
	wantFailure(t, "Load with a context that ends", n, err, pets.Unavailable)
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
			for p := range sequence(newPets(n-1), nil) {
				if !yield(p, nil) {
					return
				}
			}
			close(last)
			<-finish
			yield(newPet(), nil)
		})
		loaded <- err
	}()
	select {
	case <-last:
	case err := <-loaded:
		t.Fatalf("Load: got error %v before the last pet", err)
	}
	wantAll(t, s, before)

	// A create may have to wait for the load, but not beyond its own deadline.
	once := newPetOnce()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.CreatePet(ctx, once); err != nil && pets.KindOf(err) != pets.Internal {
		wantKind(t, "CreatePet during Load", err, pets.Unavailable)
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
	var errs [4]error
	concurrently(len(errs), func(i int) { _, errs[i] = s.LoadWithIDs(t.Context(), sequence(all, nil)) })
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
	wantAll(t, s, all)
	n, err := s.LoadWithIDs(t.Context(), sequence([]pets.Pet{newPet().WithID(pets.MaxID)}, nil))
	if n != 0 || !errors.Is(err, pets.ErrNotEmpty) {
		t.Errorf("LoadWithIDs into a store with pets: got %d, error %v, want 0 and ErrNotEmpty", n, err)
	}
	all = append(all, mustCreate(t, s, newPet()))
	all = append(all, mustLoad(t, s, newPets(2))...)
	wantAll(t, s, all)
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
