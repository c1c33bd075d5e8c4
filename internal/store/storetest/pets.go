package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/pets"
)

// names are texts that some database, driver or encoding is known to change.
var names = []string{
	"",
	" \t Rex \u00a0\n",
	"a\r\nb\rc\n",
	"👩🏽‍🚀🐈‍⬛🇪🇺",
	"\u00e9 e\u0301 Z\u0351\u036b\u0343a\u0328\u0301l\u0334g\u0321o\u0321", // composed and combining
	"\u202eשלום\u202c مرحبا\u200f",
	"\ufeffa\u200bb\u00adc\u2060", // invisible
	"a\u2028b\u2029c\u0085d",
	"\x01\x02\x07\x08\x1a\x1b[31m\x7f",
	"\uffff\ufdd0\ufffe\ufffd\U0010ffff",
	`'"` + "`" + `''""\'\"'); DROP TABLE pets; --`,
	`? ?1 $1 :name @name %s {} %_*?[a-z]`,
	`%00 \0 \x00 \u0000 &#0; \N \.`,
	"0042.50e1",
	"NULL",
	`{"id":1,"name":null}`,
	strings.Repeat("x", 64<<10),
	strings.Repeat("é🐕", 64<<10/6),
}

var categories = []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt32 + 1, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}

// oddPets returns a pet for each of names, categories and statuses.
func oddPets() []pets.NewPet {
	var all []pets.NewPet
	for i := range max(len(names), len(categories)) {
		all = append(all, pets.NewPet{Name: names[i%len(names)], CategoryID: categories[i%len(categories)], Status: statusOf(i)})
	}
	return all
}

func testCreatePet(t *testing.T, f Factory) {
	s := f.open(t)
	var created []pets.Pet
	for _, p := range append(oddPets(), rex(), rex()) { // equal pets are two pets
		pet := mustCreate(t, s, p)
		if slices.Contains(ids(created), pet.ID) {
			t.Errorf("CreatePet: got id %d twice", pet.ID)
		}
		wantPet(t, s, pet)
		created = append(created, pet)
	}
	listed := mustWalk(t, s, "", 5)
	if len(listed) != len(created) {
		t.Errorf("Pets: got %d, want %d", len(listed), len(created))
	}
	for _, p := range created {
		if !slices.Contains(listed, p) {
			t.Errorf("Pets: got none equal to %.80v", p)
		}
	}
}

func testCreatePetInvalid(t *testing.T, f Factory) {
	s := f.open(t)
	with := func(change func(*pets.NewPet)) pets.NewPet {
		p := rex()
		p.Idempotency = pets.Idempotency{KeyID: "mine", Key: "k"}
		change(&p)
		return p
	}
	for what, p := range map[string]pets.NewPet{
		"U+0000":            with(func(p *pets.NewPet) { p.Name = "\x00" }),
		"U+0000 within":     with(func(p *pets.NewPet) { p.Name = "Re\x00x" }),
		"not UTF-8":         with(func(p *pets.NewPet) { p.Name = "Re\xffx" }),
		"surrogate":         with(func(p *pets.NewPet) { p.Name = "\xed\xa0\x80" }),
		"no status":         with(func(p *pets.NewPet) { p.Status = "" }),
		"unknown status":    with(func(p *pets.NewPet) { p.Status = "lost" }),
		"status in capital": with(func(p *pets.NewPet) { p.Status = "Sold" }),
		"empty key":         with(func(p *pets.NewPet) { p.Idempotency.Key = "" }),
		"key not printable": with(func(p *pets.NewPet) { p.Idempotency.Key = "a\n" }),
		"key not ASCII":     with(func(p *pets.NewPet) { p.Idempotency.Key = "é" }),
		"key too long":      with(func(p *pets.NewPet) { p.Idempotency.Key = strings.Repeat("k", 256) }),
	} {
		pet, err := s.CreatePet(t.Context(), p)
		wantKind(t, what, err, pets.Invalid)
		if pet != (pets.Pet{}) {
			t.Errorf("%s: got %v beside the error, want no pet", what, pet)
		}
	}
	wantAll(t, s, nil)
}

func testPetNotFound(t *testing.T, f Factory) {
	s := f.open(t)
	pet := mustCreate(t, s, rex())
	for _, id := range []int64{0, -1, pet.ID + 1, math.MinInt64, pets.MaxID, pets.MaxID + 1, math.MaxInt64} {
		got, err := s.Pet(t.Context(), id)
		wantKind(t, fmt.Sprintf("Pet(%d)", id), err, pets.NotFound)
		if got != (pets.Pet{}) {
			t.Errorf("Pet(%d): got %v beside the error, want no pet", id, got)
		}
	}
}

func testPetsEmpty(t *testing.T, f Factory) {
	s := f.open(t)
	for _, status := range filters {
		for _, after := range []int64{0, 1, math.MaxInt64} {
			wantPage(t, s, nil, pets.Query{Status: status, After: after, Limit: 1})
		}
	}
}

// testPets lists pets with gaps between the identifiers, then created ones.
func testPets(t *testing.T, f Factory) {
	s := f.open(t)
	all := petsWithGaps(31)
	mustLoadWithIDs(t, s, all)
	for range 2 {
		last := all[len(all)-1].ID
		afters := append([]int64{math.MinInt64, -1, 0, last - 1, last + 1, pets.MaxID, math.MaxInt64}, ids(all)...)
		for _, status := range filters {
			for _, limit := range []int{1, 2, 10, 11, len(all) - 1, len(all), len(all) + 1, 5000} {
				for _, after := range afters {
					wantPage(t, s, all, pets.Query{Status: status, After: after, Limit: limit})
				}
				if got, want := mustWalk(t, s, status, limit), ofStatus(all, status); !slices.Equal(got, want) {
					t.Errorf("walk of status %q by %d: got ids %v, want %v", status, limit, ids(got), ids(want))
				}
			}
			if t.Failed() {
				return
			}
		}
		for _, p := range newPets(4) {
			all = append(all, mustCreate(t, s, p))
		}
		slices.SortFunc(all, func(a, b pets.Pet) int { return cmp.Compare(a.ID, b.ID) })
	}
}

// testPetsWhileCreating walks the list while others create and load. A walk
// returns every pet that was acknowledged before it began exactly once.
func testPetsWhileCreating(t *testing.T, f Factory) {
	s := f.open(t)
	const writers, creates, walkers = 6, 20, 3
	var (
		mu           sync.Mutex
		acknowledged = map[pets.Pet]bool{}
	)
	acknowledge := func(p pets.Pet, err error) {
		if err != nil {
			t.Errorf("CreatePet: got error %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if acknowledged[p] {
			t.Errorf("CreatePet: got %v twice", p)
		}
		acknowledged[p] = true
	}
	known := func(status pets.Status) (all []pets.Pet) {
		mu.Lock()
		defer mu.Unlock()
		for p := range acknowledged {
			if status == "" || p.Status == status {
				all = append(all, p)
			}
		}
		return all
	}
	check := func(status pets.Status, limit int) {
		before := known(status)
		walked := map[pets.Pet]bool{}
		for _, p := range mustWalk(t, s, status, limit) { // it fails if an id comes twice
			walked[p] = true
			if status != "" && p.Status != status {
				t.Errorf("walk of status %q: got %v", status, p)
			}
		}
		for _, p := range before {
			if !walked[p] {
				t.Errorf("walk of status %q: got no %v, which was created before it", status, p)
			}
		}
	}
	creating, done := sync.WaitGroup{}, make(chan struct{})
	for i := range writers {
		creating.Go(func() {
			for n := range creates {
				p := pets.NewPet{Name: fmt.Sprintf("pet %d of %d", n, i), CategoryID: int64(n), Status: statusOf(n)}
				acknowledge(s.CreatePet(t.Context(), p))
			}
		})
	}
	const loads, loaded = 2, 50
	creating.Go(func() {
		for range loads {
			if n, err := s.Load(t.Context(), sequence(newPets(loaded), nil)); err != nil || n != loaded {
				t.Errorf("Load: got %d, error %v, want %d", n, err, loaded)
			}
		}
	})
	go func() {
		creating.Wait()
		close(done)
	}()
	concurrently(walkers, func(i int) {
		for {
			select {
			case <-done:
				check("", 7)
				return
			default:
				check(filters[i%len(filters)], 7)
			}
		}
	})
	if got, want := len(mustWalk(t, s, "", 100)), writers*creates+loads*loaded; got != want {
		t.Errorf("at the end: got %d pets, want %d", got, want)
	}
}
