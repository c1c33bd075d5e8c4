package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
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
	other := named("another") // package pets tests the comparison
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

// testIdempotencyConcurrent has callers create pets with a key at once: different ones, of
// which one is stored, and equal ones, which are one.
func testIdempotencyConcurrent(t *testing.T, f Factory) {
	s := f.open(t)
	var all []pets.Pet
	for n := range 20 {
		different := pets.IdempotencyKey{KeyID: "mine", Key: fmt.Sprint("different ", n)}
		all = append(all, race(t, 16, fault.IdempotencyKeyReused, func(i int) (pets.Pet, error) {
			return s.CreatePet(t.Context(), example.Pets(16)[i], different)
		}))
		equals := pets.IdempotencyKey{KeyID: "mine", Key: fmt.Sprint("equal ", n)}
		var created [8]pets.Pet
		concurrently(len(created), func(i int) {
			var err error
			if created[i], err = s.CreatePet(t.Context(), newPet(), equals); err != nil {
				t.Errorf("equal pets with one key: got error %v", err)
			}
		})
		for _, p := range created[1:] {
			if !equal(p, created[0]) {
				t.Errorf("equal pets with one key: got %v and %v, want one", p, created[0])
			}
		}
		all = append(all, created[0])
	}
	slices.SortFunc(all, byID)
	wantAll(t, s, all)
}

// race has n callers do at once what only one may, and returns what that one got. The
// others get an error of a kind. Whatever may exist once is tested so, such as a name that
// is unique, or the last one in stock.
func race(t testing.TB, n int, lost fault.Kind, do func(i int) (pets.Pet, error)) (won pets.Pet) {
	t.Helper()
	var mu sync.Mutex
	winners := 0
	concurrently(n, func(i int) {
		got, err := do(i)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			winners, won = winners+1, got
		} else {
			wantKind(t, fmt.Sprint("caller ", i), err, lost)
		}
	})
	if winners != 1 {
		t.Errorf("got %d callers of %d that succeeded, want one", winners, n)
	}
	return won
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
