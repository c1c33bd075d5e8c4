package storetest

import (
	"math"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

// names are texts that some database, driver or encoding is known to change.
var names = map[string]string{
	"empty":                      "",
	"one space":                  " ",
	"white space around":         " \t Rex \u00a0\n",
	"only a newline":             "\n",
	"carriage return":            "a\r\nb\rc",
	"emoji in several runes":     "👩🏽‍🚀🐈‍⬛🇪🇺",
	"composed and decomposed":    "\u00e9 e\u0301",
	"combining marks":            "Z\u0351\u036b\u0343a\u0328\u0301l\u0334g\u0321o\u0321",
	"right to left":              "\u202eשלום\u202c مرحبا\u200f",
	"invisible":                  "\ufeffa\u200bb\u00adc\u2060",
	"line separators":            "a\u2028b\u2029c\u0085d",
	"controls":                   "\x01\x02\x07\x08\x1a\x1b[31m\x7f",
	"last of the first plane":    "\uffff",
	"noncharacter":               "\ufdd0\ufffe",
	"replacement":                "\ufffd",
	"last code point":            "\U0010ffff",
	"quotes":                     `'"` + "`" + `''""\'\"`,
	"SQL":                        `'); DROP TABLE pets; --`,
	"placeholders":               "? ?1 $1 :name @name %s %d {}",
	"escapes that are just text": `%00 \0 \x00 \u0000 &#0; \N`,
	"a number":                   "0042.50e1",
	"null":                       "NULL",
	"JSON":                       `{"id":1,"name":null}`,
	"wildcards":                  "%_*?[a-z]",
	"long":                       strings.Repeat("Ωmega 🐕 ", 60<<10/len("Ωmega 🐕 ")),
	"long without a break":       strings.Repeat("x", 60<<10),
}

func storingPets(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"A created pet is returned as sent, with an identifier", aCreatedPetIsReturnedAsSent},
		{"Every property is kept", everyPropertyIsKept},
		{"Names come back code point for code point", namesComeBackCodePointForCodePoint},
		{"A category may be any int64", aCategoryMayBeAnyInt64},
		{"Identifiers ascend in the order of creation", identifiersAscendInTheOrderOfCreation},
		{"Equal pets are different pets", equalPetsAreDifferentPets},
		{"What no store accepts is invalid and leaves nothing behind", whatNoStoreAcceptsIsInvalidAndLeavesNothingBehind},
		{"A pet that does not exist is not found", aPetThatDoesNotExistIsNotFound},
	})
}

func aCreatedPetIsReturnedAsSent(t *testing.T, open opener) {
	s := open(t)
	for _, status := range pets.Statuses() {
		mustFind(t, s, mustCreate(t, s, pets.NewPet{Name: "Rex", CategoryID: 7, Status: status}))
	}
}

func namesComeBackCodePointForCodePoint(t *testing.T, open opener) {
	s := open(t)
	created := map[int64]pets.Pet{}
	for what, name := range names {
		t.Run(what, func(t *testing.T) {
			pet := mustCreate(t, s, pets.NewPet{Name: name, CategoryID: 1, Status: pets.Available})
			mustFind(t, s, pet)
			created[pet.ID] = pet
		})
	}
	for _, pet := range mustWalk(t, s, "", 10, nil) {
		if pet != created[pet.ID] {
			t.Errorf("listed pet %d: got %#v, want %#v", pet.ID, pet, created[pet.ID])
		}
	}
}

func aCategoryMayBeAnyInt64(t *testing.T, open opener) {
	s := open(t)
	for _, category := range []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt32 + 1, 9007199254740993, math.MaxInt64 - 1, math.MaxInt64} {
		mustFind(t, s, mustCreate(t, s, pets.NewPet{Name: "Rex", CategoryID: category, Status: pets.Sold}))
	}
}

func identifiersAscendInTheOrderOfCreation(t *testing.T, open opener) {
	var last int64
	for _, pet := range mustCreateMany(t, open(t), 50) {
		if pet.ID <= last {
			t.Errorf("got id %d after %d, want a greater one", pet.ID, last)
		}
		last = pet.ID
	}
}

func equalPetsAreDifferentPets(t *testing.T, open opener) {
	s := open(t)
	twin := pets.NewPet{Name: "Twin", CategoryID: 1, Status: pets.Pending}
	a, b := mustCreate(t, s, twin), mustCreate(t, s, twin)
	if a.ID == b.ID {
		t.Errorf("got id %d twice, want two", a.ID)
	}
	mustFind(t, s, a)
	mustFind(t, s, b)
}

func whatNoStoreAcceptsIsInvalidAndLeavesNothingBehind(t *testing.T, open opener) {
	s := open(t)
	for what, p := range map[string]pets.NewPet{
		"U+0000 alone":         {Name: "\x00", Status: pets.Available},
		"U+0000 at the end":    {Name: "Rex\x00", Status: pets.Available},
		"U+0000 in the middle": {Name: "Re\x00x", Status: pets.Available},
		"text not in UTF-8":    {Name: "Re\xffx", Status: pets.Available},
		"no status":            {Name: "Rex"},
		"an unknown status":    {Name: "Rex", Status: "lost"},
		"a status in capitals": {Name: "Rex", Status: "Sold"},
		"a status with spaces": {Name: "Rex", Status: "sold "},
	} {
		pet, err := s.CreatePet(t.Context(), p)
		wantKind(t, what, err, pets.Invalid)
		if pet != (pets.Pet{}) {
			t.Errorf("%s: got %#v beside the error, want no pet", what, pet)
		}
	}
	if page := mustList(t, s, pets.Query{Limit: 100}); len(page.Pets) > 0 || page.More {
		t.Errorf("afterwards: got %#v, want no pets", page.Pets)
	}
}

func aPetThatDoesNotExistIsNotFound(t *testing.T, open opener) {
	s := open(t)
	for round := range 2 {
		var last int64
		for range round {
			last = mustCreate(t, s, pets.NewPet{Name: "Rex", Status: pets.Available}).ID
		}
		for _, id := range append([]int64{last + 1}, absentIDs...) {
			pet, err := s.Pet(t.Context(), id)
			wantKind(t, "an absent pet", err, pets.NotFound)
			if pet != (pets.Pet{}) {
				t.Errorf("pet %d: got %#v beside the error, want no pet", id, pet)
			}
		}
	}
}
