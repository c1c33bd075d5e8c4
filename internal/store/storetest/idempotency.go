package storetest

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

// newPetOnce returns a valid pet with an idempotency key.
func newPetOnce() pets.NewPet {
	p := newPet()
	p.Idempotency = pets.Idempotency{KeyID: "mine", Key: "k1"}
	return p
}

func testIdempotency(t *testing.T, f Factory) {
	s := f.open(t)
	once := newPetOnce()
	first := mustCreate(t, s, once)
	for what, change := range map[string]func(*pets.NewPet){
		"name":              func(p *pets.NewPet) { p.Name = strings.ToUpper(p.Name) },
		"name with a space": func(p *pets.NewPet) { p.Name += " " },
		"category":          func(p *pets.NewPet) { p.CategoryID++ },
		"status":            func(p *pets.NewPet) { p.Status = pets.Available },
	} {
		p := once
		change(&p)
		pet, err := s.CreatePet(t.Context(), p)
		wantKind(t, "another "+what, err, pets.Reused)
		if !equal(pet, pets.Pet{}) {
			t.Errorf("another %s: got %v with the error, want no pet", what, pet)
		}
	}
	if got := mustCreate(t, s, once); !equal(got, first) {
		t.Errorf("the same again: got %v, want %v", got, first)
	}
	created := map[int64]bool{first.ID: true}
	others := []pets.Idempotency{
		{},
		{},
		{KeyID: "yours", Key: "k1"},
		{KeyID: "minek", Key: "1"},
		{KeyID: "", Key: "k1"},
		{KeyID: "mine", Key: "K1"},
		{KeyID: "mine", Key: " k1"},
		{KeyID: "mine", Key: strings.Repeat("k", 255)},
	}
	for _, i := range others {
		p := newPet()
		p.Idempotency = i
		created[mustCreate(t, s, p).ID] = true
	}
	if want := 1 + len(others); len(created) != want {
		t.Errorf("other keys: got %d pets, want %d", len(created), want)
	}
}

// testIdempotencyAfterChange repeats a request whose pet was changed since: it is
// compared with the first request and answered with the pet as it is stored now.
func testIdempotencyAfterChange(t *testing.T, f Factory) {
	if f.Change == nil {
		return
	}
	s := f.open(t)
	once := newPetOnce()
	first := mustCreate(t, s, once)
	changed := named("renamed", pets.Pending).WithID(first.ID)
	f.Change(t, s, changed)
	wantPet(t, s, changed)
	for _, status := range filters {
		if got, want := mustWalk(t, s, status, 10), ofStatus([]pets.Pet{changed}, status); !slices.EqualFunc(got, want, equal) {
			t.Errorf("walk of status %q: got %v, want %v", status, got, want)
		}
	}
	for range 2 {
		if got, err := s.CreatePet(t.Context(), once); err != nil || !equal(got, changed) {
			t.Errorf("the same again: got %v, error %v, want %v", got, err, changed)
		}
		other := changed.WithoutID()
		other.Idempotency = once.Idempotency
		_, err := s.CreatePet(t.Context(), other)
		wantKind(t, "a request for the changed pet", err, pets.Reused)
		if f.Reopen != nil {
			s = f.reopen(t, s)
		}
	}
	wantAll(t, s, []pets.Pet{changed})
}

// testIdempotencyAfterRemoval repeats a request whose pet was removed since, which
// does not bring it back.
func testIdempotencyAfterRemoval(t *testing.T, f Factory) {
	if f.Remove == nil {
		return
	}
	s := f.open(t)
	once := newPetOnce()
	first := mustCreate(t, s, once)
	f.Remove(t, s, first.ID)
	_, err := s.CreatePet(t.Context(), once)
	wantKind(t, "the same again", err, pets.Reused)
	if next := mustCreate(t, s, newPet()); next.ID <= first.ID {
		t.Errorf("another pet: got id %d, want one greater than %d", next.ID, first.ID)
	}
}

// testIdempotencyConcurrent creates each of several pets 16 times at once, then
// different pets with the same key.
func testIdempotencyConcurrent(t *testing.T, f Factory) {
	s := f.open(t)
	const keys, times = 20, 16
	var created [times][keys]pets.Pet
	concurrently(times, func(i int) {
		for n, p := range newPets(keys) {
			p.Idempotency = pets.Idempotency{KeyID: "mine", Key: strconv.Itoa(n)}
			pet, err := s.CreatePet(t.Context(), p)
			if err != nil {
				t.Errorf("key %d: got error %v", n, err)
			}
			created[i][n] = pet
		}
	})
	for i := range created {
		if !slices.EqualFunc(created[i][:], created[0][:], equal) {
			t.Errorf("caller %d: got %v, want the same pets as caller 0, %v", i, created[i], created[0])
		}
	}
	wantAll(t, s, mustWalk(t, s, "", keys)[:keys])

	var errs [times]error
	concurrently(times, func(i int) {
		p := newPetOnce()
		p.CategoryID = int64(i)
		_, errs[i] = s.CreatePet(t.Context(), p)
	})
	accepted := 0
	for _, err := range errs {
		if err == nil {
			accepted++
		} else {
			wantKind(t, "another pet with the key", err, pets.Reused)
		}
	}
	if got := len(mustWalk(t, s, "", 100)); accepted != 1 || got != keys+1 {
		t.Errorf("different pets with one key: got %d accepted and %d pets, want 1 and %d", accepted, got, keys+1)
	}
}
