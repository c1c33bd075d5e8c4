package storetest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

var mine = pets.IdempotencyKey{KeyID: "mine", Key: "k1"}

func testIdempotency(t *testing.T, f Factory) {
	s := f.open(t)
	first := mustCreateOnce(t, s, newPet(), mine)
	other := newPet() // package pets tests the comparison
	other.Name += " "
	pet, err := s.CreatePet(t.Context(), other, mine)
	wantKind(t, "another name", err, pets.Reused)
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
	changed := pets.Pet{ID: first.ID, NewPet: newPets(2)[1]}
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
		wantKind(t, "a request for the changed pet", err, pets.Reused)
		if f.Reopen != nil {
			s = f.reopen(t, s)
		}
	}
	if f.Remove == nil {
		return
	}
	f.Remove(t, s, first.ID)
	_, err := s.CreatePet(t.Context(), newPet(), mine)
	wantKind(t, "the same again after the removal", err, pets.Reused)
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
			p, err := s.CreatePet(t.Context(), newPets(2)[i%2], pets.IdempotencyKey{KeyID: "mine", Key: strconv.Itoa(n)})
			if err != nil {
				wantKind(t, "the other pet with the key", err, pets.Reused)
			}
			created[i] = p
		})
		won := slices.MaxFunc(created[:], byID)
		for i, got := range created {
			asked := equal(won, pets.Pet{ID: won.ID, NewPet: newPets(2)[i%2]})
			if asked && !equal(got, won) || !asked && got.ID != 0 {
				t.Errorf("caller %d: got %v, want %v only for who asked for it", i, got, won)
			}
		}
		all = append(all, won)
	}
	slices.SortFunc(all, byID)
	wantAll(t, s, all)
}

func testForgetIdempotencyKeys(t *testing.T, f Factory) {
	s := f.open(t)
	first := pets.Pet{ID: 2, NewPet: newPet()}
	both := []pets.Pet{{ID: 1, NewPet: newPet()}, first}
	filled, now := snapshot(both), time.Now().UTC().Truncate(time.Second)
	others := pets.IdempotencyKey{KeyID: "yours", Key: mine.Key} // which is forgotten alone
	filled.Requests = Sequence(nil, []pets.KeyedRequest{
		{IdempotencyKey: others, PetID: 1, Fingerprint: newPet().Fingerprint(), CreatedAt: now.Add(-2 * time.Hour)},
		{IdempotencyKey: mine, PetID: 2, Fingerprint: newPet().Fingerprint(), CreatedAt: now},
	}...)
	if err := s.Fill(t.Context(), filled); err != nil {
		t.Fatalf("Fill: got error %v", err)
	}
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
	wantAll(t, s, both)
	if next := mustCreateOnce(t, s, newPet(), mine); next.ID <= first.ID {
		t.Errorf("after it was forgotten: got id %d, want another pet", next.ID)
	}
	forget(-time.Hour, 0)
	forget(time.Hour, 1)
}
