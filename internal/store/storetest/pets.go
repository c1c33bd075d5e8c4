package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
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
	created := map[int64]pets.Pet{}
	for _, p := range append(oddPets(), newPet(), newPet()) { // equal pets are stored twice
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
		wantKind(t, fmt.Sprintf("Pet(%d)", id), err, pets.NotFound)
	}
	invalid := named("\x00", pets.Sold) // package pets tests the rules
	for _, key := range []pets.IdempotencyKey{{}, mine} {
		pet, err := s.CreatePet(t.Context(), invalid, key)
		wantKind(t, "CreatePet of an invalid pet", err, pets.Invalid)
		if !equal(pet, pets.Pet{}) {
			t.Errorf("CreatePet: got %v with the error, want no pet", pet)
		}
	}
	_, err := s.CreatePet(t.Context(), newPet(), pets.IdempotencyKey{KeyID: "mine"})
	wantKind(t, "CreatePet with an invalid key", err, pets.Invalid)
	wantAll(t, s, slices.SortedFunc(maps.Values(created), byID))
}

func byID(a, b pets.Pet) int { return cmp.Compare(a.ID, b.ID) }

// testPets lists an empty store, pets with gaps between their identifiers, and
// created pets.
func testPets(t *testing.T, f Factory) {
	s := f.open(t)
	for _, status := range filters {
		wantPage(t, s, nil, pets.Query{Status: status, Limit: 1})
	}
	all := petsWithGaps(11)
	mustFill(t, s, all)
	for range 2 {
		afters := []int64{math.MinInt64, -1, 0, pets.MaxID, math.MaxInt64}
		for _, p := range all {
			afters = append(afters, p.ID-1, p.ID)
		}
		for _, status := range filters {
			for _, limit := range []int{1, 4, len(all) - 1, len(all), 5000} {
				for _, after := range afters {
					wantPage(t, s, all, pets.Query{Status: status, After: after, Limit: limit})
				}
				wantWalk(t, s, all, status, limit)
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

// wantPage checks the page that q selects from a store that holds all.
func wantPage(t testing.TB, s store.Store, all []pets.Pet, q pets.Query) {
	t.Helper()
	want := slices.DeleteFunc(ofStatus(all, q.Status), func(p pets.Pet) bool { return p.ID <= q.After })
	more := len(want) > q.Limit
	want = want[:min(q.Limit, len(want))]
	got, err := s.Pets(t.Context(), q)
	if err != nil || !slices.EqualFunc(got.Pets, want, equal) || got.More != more {
		t.Errorf("Pets(%+v): got %+v, error %v, want %v, more %v", q, got, err, want, more)
	}
}

// testPageText lists pets whose names fill a page before its limit does.
func testPageText(t *testing.T, f Factory) {
	s := f.open(t)
	var all []pets.Pet
	for range 5 {
		all = append(all, mustCreate(t, s, named(strings.Repeat("é", pets.MaxPageText/4), pets.Sold)))
	}
	for _, status := range []pets.Status{"", pets.Sold} {
		for _, c := range []struct {
			after int64
			limit int
			want  []pets.Pet
			more  bool
		}{
			{0, 100, all[:2], true},
			{0, 1, all[:1], true},
			{all[1].ID, 100, all[2:4], true},
			{all[2].ID, 100, all[3:], false},
			{all[3].ID, 100, all[4:], false},
		} {
			got, err := s.Pets(t.Context(), pets.Query{Status: status, After: c.after, Limit: c.limit})
			if err != nil || !slices.EqualFunc(got.Pets, c.want, equal) || got.More != c.more {
				t.Errorf("Pets after %d by %d: got %d pets, more %v, error %v, want %d, %v", c.after, c.limit, len(got.Pets), got.More, err, len(c.want), c.more)
			}
		}
		wantWalk(t, s, all, status, 100)
	}
}
