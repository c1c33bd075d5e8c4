package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

// names are strings that some database, driver or encoding is known to change.
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

// oddPets returns pets that cover all names, categories and statuses.
func oddPets() []pets.NewPet {
	var all []pets.NewPet
	for i := range max(len(names), len(categories)) {
		p := named(names[i%len(names)], statusOf(i))
		p.CategoryID = categories[i%len(categories)]
		all = append(all, p)
	}
	return all
}

func testCreatePet(t *testing.T, f Factory) {
	s := f.open(t)
	var created []pets.Pet
	for _, p := range append(oddPets(), newPet(), newPet()) { // equal pets are stored twice
		pet := mustCreate(t, s, p)
		if slices.Contains(ids(created), pet.ID) {
			t.Errorf("CreatePet: got id %d twice", pet.ID)
		}
		wantPet(t, s, pet)
		created = append(created, pet)
	}
	slices.SortFunc(created, byID)
	wantAll(t, s, created)
	last := created[len(created)-1].ID
	for _, id := range []int64{0, -1, last + 1, math.MinInt64, pets.MaxID, pets.MaxID + 1, math.MaxInt64} {
		got, err := s.Pet(t.Context(), id)
		wantKind(t, fmt.Sprintf("Pet(%d)", id), err, pets.NotFound)
		if !equal(got, pets.Pet{}) {
			t.Errorf("Pet(%d): got %v with the error, want no pet", id, got)
		}
	}
}

func byID(a, b pets.Pet) int { return cmp.Compare(a.ID, b.ID) }

// testCreatePetInvalid checks that the store validates pets, with and without an
// idempotency key. Package pets tests the rules.
func testCreatePetInvalid(t *testing.T, f Factory) {
	s := f.open(t)
	invalid := named("\x00", pets.Sold)
	for _, key := range []pets.Idempotency{{}, {KeyID: "mine", Key: "k"}} {
		invalid.Idempotency = key
		pet, err := s.CreatePet(t.Context(), invalid)
		wantKind(t, "CreatePet", err, pets.Invalid)
		if !equal(pet, pets.Pet{}) {
			t.Errorf("CreatePet: got %v with the error, want no pet", pet)
		}
	}
	wantAll(t, s, nil)
}

// testPets lists an empty store, pets with gaps between their identifiers, and
// created pets.
func testPets(t *testing.T, f Factory) {
	s := f.open(t)
	for _, status := range filters {
		wantPage(t, s, nil, pets.Query{Status: status, Limit: 1})
	}
	all := petsWithGaps(11)
	mustLoadWithIDs(t, s, all)
	for range 2 {
		last := all[len(all)-1].ID
		afters := append([]int64{math.MinInt64, -1, 0, last - 1, last + 1, pets.MaxID, math.MaxInt64}, ids(all)...)
		for _, status := range filters {
			for _, limit := range []int{1, 4, len(all) - 1, len(all), 5000} {
				for _, after := range afters {
					wantPage(t, s, all, pets.Query{Status: status, After: after, Limit: limit})
				}
				if got, want := mustWalk(t, s, status, limit), ofStatus(all, status); !slices.EqualFunc(got, want, equal) {
					t.Errorf("walk of status %q by %d: got %s, want %s", status, limit, brief(got), brief(want))
				}
			}
			if t.Failed() {
				return
			}
		}
		for _, p := range newPets(4) {
			all = append(all, mustCreate(t, s, p))
		}
		slices.SortFunc(all, byID)
	}
}
