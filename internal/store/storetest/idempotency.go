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
	other := once // package pets tests the comparison
	other.Name += " "
	pet, err := s.CreatePet(t.Context(), other)
	wantKind(t, "another name", err, pets.Reused)
	if !equal(pet, pets.Pet{}) {
		t.Errorf("another name: got %v with the error, want no pet", pet)
	}
	if got := mustCreate(t, s, once); !equal(got, first) {
		t.Errorf("the same again: got %v, want %v", got, first)
	}
	all := []pets.Pet{first}
	for _, other := range []pets.Idempotency{
		{},
		{},
		{KeyID: "yours", Key: "k1"},
		{KeyID: "minek", Key: "1"},
		{KeyID: "", Key: "k1"},
		{KeyID: "mine", Key: "K1"},
		{KeyID: "mine", Key: " k1"},
		{KeyID: "mine", Key: strings.Repeat("k", 255)},
	} {
		p := newPet()
		p.Idempotency = other
		all = append(all, mustCreate(t, s, p))
	}
	slices.SortFunc(all, byID)
	wantAll(t, s, all)
}

// testIdempotencyAfterChange repeats a request whose pet was changed since: it is
// compared with the first request and answered with the pet as it is stored now. That
// of a removed pet is refused, and its identifier is not used again.
func testIdempotencyAfterChange(t *testing.T, f Factory) {
	if f.Change == nil {
		return
	}
	s := f.open(t)
	once := newPetOnce()
	first := mustCreate(t, s, once)
	changed := named("renamed", pets.Pending).WithID(first.ID)
	f.Change(t, s, changed)
	for range 2 {
		wantPet(t, s, changed)
		for _, status := range filters {
			wantWalk(t, s, []pets.Pet{changed}, status, 10)
		}
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
	if f.Remove == nil {
		return
	}
	f.Remove(t, s, first.ID)
	_, err := s.CreatePet(t.Context(), once)
	wantKind(t, "the same again after the removal", err, pets.Reused)
	if next := mustCreate(t, s, newPet()); next.ID <= first.ID {
		t.Errorf("another pet: got id %d, want one greater than %d", next.ID, first.ID)
	}
}

// testIdempotencyConcurrent has callers create one of two pets with each key at once.
func testIdempotencyConcurrent(t *testing.T, f Factory) {
	s := f.open(t)
	const keys, times = 20, 16
	var created [times][keys]pets.Pet
	concurrently(times, func(i int) {
		for n, p := range newPets(keys) {
			p.CategoryID += int64(i % 2)
			p.Idempotency = pets.Idempotency{KeyID: "mine", Key: strconv.Itoa(n)}
			pet, err := s.CreatePet(t.Context(), p)
			if err != nil {
				wantKind(t, "another pet with the key", err, pets.Reused)
			}
			created[i][n] = pet
		}
	})
	all := mustWalk(t, s, "", 100)
	if len(all) != keys {
		t.Errorf("got %d pets, want %d", len(all), keys)
	}
	for _, p := range all {
		n := slices.IndexFunc(newPets(keys), func(other pets.NewPet) bool { return other.Name == p.Name })
		for i := range created {
			won := p.CategoryID == int64(n+i%2)
			if got := created[i][n]; won && !equal(got, p) || !won && got.ID != 0 {
				t.Errorf("caller %d: got %v, want %v only for who asked for it", i, got, p)
			}
		}
	}
}
