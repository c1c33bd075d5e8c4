package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
)

var mine = pets.IdempotencyKey{KeyID: "mine", Key: "k1"}

func testIdempotency(t *testing.T, f Factory) {
	s := f.open(t)
	first := mustCreateOnce(t, s, newPet(), mine)
	other := newPet() // package pets tests the comparison
	other.Name += " "
	pet, err := s.CreatePet(t.Context(), other, mine)
	wantKind(t, "another name", err, fault.IdempotencyKeyReused)
	if !equal(pet, pets.Pet{}) {
		t.Errorf("another name: got %v with the error, want no pet", pet)
	}
	if got := mustCreateOnce(t, s, newPet(), mine); !equal(got, first) {
		t.Errorf("the same again: got %v, want %v", got, first)
	}
	all := []pets.Pet{first}
	for _, other := range []pets.IdempotencyKey{
		{},
		{},
		{KeyID: "yours", Key: "k1"},
		{KeyID: "minek", Key: "1"},
		{KeyID: "", Key: "k1"},
		{KeyID: "mine", Key: "K1"},
		{KeyID: "mine", Key: " k1"},
		{KeyID: "mine", Key: strings.Repeat("k", 255)},
	} {
		all = append(all, mustCreateOnce(t, s, newPet(), other))
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
	first := mustCreateOnce(t, s, newPet(), mine)
	changed := pets.Pet{ID: first.ID, NewPet: example.Pets(2)[1]}
	f.Change(t, s, changed)
	for range 2 {
		wantPet(t, s, changed)
		for _, q := range queries {
			q.Limit = 10
			wantWalk(t, s, []pets.Pet{changed}, q)
		}
		if got, err := s.CreatePet(t.Context(), newPet(), mine); err != nil || !equal(got, changed) {
			t.Errorf("the same again: got %v, error %v, want %v", got, err, changed)
		}
		_, err := s.CreatePet(t.Context(), changed.NewPet, mine)
		wantKind(t, "a request for the changed pet", err, fault.IdempotencyKeyReused)
		if f.Reopen != nil {
			s = f.reopen(t, s)
		}
	}
	if f.Remove == nil {
		return
	}
	f.Remove(t, s, first.ID)
	_, err := s.CreatePet(t.Context(), newPet(), mine)
	wantKind(t, "the same again after the removal", err, fault.IdempotencyKeyReused)
	if next := mustCreate(t, s, newPet()); next.ID <= first.ID {
		t.Errorf("another pet: got id %d, want one greater than %d", next.ID, first.ID)
	}
}

// testIdempotencyConcurrent has callers create one of two pets with a key at once.
func testIdempotencyConcurrent(t *testing.T, f Factory) {
	s := f.open(t)
	var all []pets.Pet
	for n := range 20 {
		var created [16]pets.Pet
		concurrently(len(created), func(i int) {
			p, err := s.CreatePet(t.Context(), example.Pets(2)[i%2], pets.IdempotencyKey{KeyID: "mine", Key: strconv.Itoa(n)})
			if err != nil {
				wantKind(t, "the other pet with the key", err, fault.IdempotencyKeyReused)
			}
			created[i] = p
		})
		won := slices.MaxFunc(created[:], byID)
		for i, got := range created {
			asked := equal(won, pets.Pet{ID: won.ID, NewPet: example.Pets(2)[i%2]})
			if asked && !equal(got, won) || !asked && got.ID != 0 {
				t.Errorf("caller %d: got %v, want %v only for who asked for it", i, got, won)
			}
		}
		all = append(all, won)
	}
	slices.SortFunc(all, byID)
	wantAll(t, s, all)
}

// testForgetIdempotencyKeys forgets the key that is old, also beside many that a clock which
// was ahead has dated in the future.
func testForgetIdempotencyKeys(t *testing.T, f Factory) {
	if f.Age == nil {
		return
	}
	s := f.open(t)
	now := time.Now()
	var all []pets.Pet
	for i := range 60 {
		key := pets.IdempotencyKey{KeyID: "mine", Key: fmt.Sprint("ahead ", i)}
		all = append(all, mustCreateOnce(t, s, newPet(), key))
		f.Age(t, s, key, -24*time.Hour)
	}
	others := pets.IdempotencyKey{KeyID: "yours", Key: mine.Key} // which is forgotten alone
	second := mustCreateOnce(t, s, newPet(), others)
	first := mustCreateOnce(t, s, newPet(), mine)
	all = append(all, second, first)
	f.Age(t, s, others, 2*time.Hour)
	forget := func(before time.Duration, want int) {
		t.Helper()
		if n, err := s.ForgetIdempotencyKeys(t.Context(), now.Add(before)); err != nil || n != want {
			t.Errorf("ForgetIdempotencyKeys: got %d, error %v, want %d", n, err, want)
		}
	}
	forget(-3*time.Hour, 0)
	forget(-time.Hour, 1)
	if got := mustCreateOnce(t, s, newPet(), mine); !equal(got, first) {
		t.Errorf("the same again: got %v, want %v", got, first)
	}
	forget(time.Hour, 1)
	forget(time.Hour, 0)
	wantAll(t, s, all)
	if next := mustCreateOnce(t, s, newPet(), mine); next.ID <= first.ID {
		t.Errorf("after it was forgotten: got id %d, want another pet", next.ID)
	}
	forget(-time.Hour, 0)
	forget(time.Hour, 1)
}
