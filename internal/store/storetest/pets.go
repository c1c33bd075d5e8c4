package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

func testCreatePet(t *testing.T, f Factory) {
	s := f.open(t)
	created := map[int64]pets.Pet{}
	for _, p := range append(example.Pets(5), newPet(), newPet()) { // equal pets are stored twice
		pet := mustCreate(t, s, p)
		if _, twice := created[pet.ID]; twice {
			t.Errorf("CreatePet: got id %d twice", pet.ID)
		}
		wantPet(t, s, pet)
		created[pet.ID] = pet
	}
	wantAll(t, s, slices.SortedFunc(maps.Values(created), byID))
	last := slices.Max(slices.Collect(maps.Keys(created)))
	for _, id := range []int64{0, -1, last + 1, math.MinInt64, pets.MaxID, pets.MaxID + 1, math.MaxInt64} {
		_, err := s.Pet(t.Context(), id)
		wantKind(t, fmt.Sprintf("Pet(%d)", id), err, fault.NotFound)
	}
	invalid := named("\x00") // package pets tests the rules
	for _, key := range []pets.IdempotencyKey{{}, mine} {
		pet, err := s.CreatePet(t.Context(), invalid, key)
		wantKind(t, "CreatePet of an invalid pet", err, fault.InvalidBody)
		if !equal(pet, pets.Pet{}) {
			t.Errorf("CreatePet: got %v with the error, want no pet", pet)
		}
	}
	_, err := s.CreatePet(t.Context(), newPet(), pets.IdempotencyKey{KeyID: "mine"})
	wantKind(t, "CreatePet with an invalid key", err, fault.InvalidRequest)
	wantAll(t, s, slices.SortedFunc(maps.Values(created), byID))
}

func byID(a, b pets.Pet) int { return cmp.Compare(a.ID, b.ID) }

// testPets lists an empty store, pets with gaps between their identifiers, and
// created pets.
func testPets(t *testing.T, f Factory) {
	s := f.open(t)
	for _, q := range queries {
		q.Limit = 1
		wantPage(t, s, nil, q)
	}
	var all []pets.Pet
	for i, p := range example.Pets(22) {
		pet := mustCreate(t, s, p)
		if f.Remove != nil && i%2 == 0 {
			f.Remove(t, s, pet.ID)
		} else {
			all = append(all, pet)
		}
	}
	for range 2 {
		afters := []int64{math.MinInt64, -1, 0, pets.MaxID, math.MaxInt64}
		for _, p := range all {
			afters = append(afters, p.ID-1, p.ID)
		}
		for _, q := range queries {
			for _, q.Limit = range []int{1, 4, len(all) - 1, len(all), 5000} {
				wantWalk(t, s, all, q)
				for _, after := range afters {
					q := q
					q.After = after
					wantPage(t, s, all, q)
				}
			}
			if t.Failed() {
				return
			}
		}
		for _, p := range example.Pets(4) {
			all = append(all, mustCreate(t, s, p))
		}
		slices.SortFunc(all, byID)
	}
}

// wantPage checks the page that q selects from a store that holds all.
func wantPage(t testing.TB, s store.Store, all []pets.Pet, q pets.Query) {
	t.Helper()
	want := slices.DeleteFunc(selected(all, q), func(p pets.Pet) bool { return p.ID <= q.After })
	more := len(want) > q.Limit
	want = want[:min(q.Limit, len(want))]
	got, err := s.Pets(t.Context(), q)
	if err != nil || !slices.EqualFunc(got.Pets, want, equal) || got.More != more {
		t.Errorf("Pets(%+v): got %+v, error %v, want %v, more %v", q, got, err, want, more)
	}
}

func testMaxID(t *testing.T, f Factory) {
	if f.Last == nil {
		return
	}
	s := f.open(t)
	stored := []pets.Pet{mustCreate(t, s, newPet())}
	f.Last(t, s, pets.MaxID-2)
	var err error
	for range 3 { // at most two; gaps are allowed
		var pet pets.Pet
		if pet, err = s.CreatePet(t.Context(), newPet(), pets.IdempotencyKey{}); err != nil {
			break
		}
		stored = append(stored, pet)
	}
	wantKind(t, "CreatePet after the last identifier", err, fault.Internal)
	wantAll(t, s, stored)
}
