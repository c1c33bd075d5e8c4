package pets_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

func TestStatusesAreThoseOfTheDocumentAndNoOthers(t *testing.T) {
	want := []pets.Status{"available", "pending", "sold"}
	if got := pets.Statuses(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, s := range pets.Statuses() {
		if !s.Valid() {
			t.Errorf("%q: got invalid, want valid", s)
		}
	}
	for _, s := range []pets.Status{"", "Available", "SOLD", " sold", "sold ", "lost", "available\x00", "null"} {
		if s.Valid() {
			t.Errorf("%q: got valid, want invalid", s)
		}
	}
}

func TestAPetIsAvailableUnlessItSaysOtherwise(t *testing.T) {
	p := pets.NewPet{Name: "Rex", CategoryID: 7}
	want := pets.NewPet{Name: "Rex", CategoryID: 7, Status: pets.Available}
	if got := p.WithDefaults(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if p.Status != "" {
		t.Errorf("the pet itself: got status %q, want it unchanged", p.Status)
	}
	// An unknown status is an error to tell, never one to repair.
	for _, s := range append(pets.Statuses(), "lost", " ") {
		p.Status = s
		if got := p.WithDefaults(); got != p {
			t.Errorf("got %v, want %v", got, p)
		}
	}
}

func TestValidateNamesTheValueNoStoreAccepts(t *testing.T) {
	const badNUL, badText, badStatus = "name must not contain U+0000", "name must be Unicode text", "status must be one of available, pending, sold"
	for _, c := range []struct {
		pet  pets.NewPet
		want string
	}{
		{pets.NewPet{Name: "Rex", Status: pets.Sold}, ""},
		{pets.NewPet{Name: "", Status: pets.Available}, ""},
		{pets.NewPet{Name: " \t\n", CategoryID: math.MinInt64, Status: pets.Pending}, ""},
		{pets.NewPet{Name: "\u0001\uffff\ufffd\U0010ffff", CategoryID: math.MaxInt64, Status: pets.Sold}, ""},
		{pets.NewPet{Name: strings.Repeat("x", 1<<20), Status: pets.Sold}, ""},
		{pets.NewPet{Name: "\x00", Status: pets.Sold}, badNUL},
		{pets.NewPet{Name: strings.Repeat("é", 500) + "\x00", Status: pets.Sold}, badNUL},
		{pets.NewPet{Name: "\xff", Status: pets.Sold}, badText},
		{pets.NewPet{Name: "surrogate \xed\xa0\x80", Status: pets.Sold}, badText},
		{pets.NewPet{Name: "cut \xf0\x9f\x90", Status: pets.Sold}, badText},
		{pets.NewPet{Name: "Rex"}, badStatus},
		{pets.NewPet{Name: "Rex", Status: "lost"}, badStatus},
		{pets.NewPet{Name: "\x00", Status: "lost"}, badNUL},
	} {
		err := c.pet.Validate()
		if c.want == "" {
			if err != nil {
				t.Errorf("%#v: got error %v, want nil", c.pet, err)
			}
			continue
		}
		if err == nil || err.Error() != c.want || pets.KindOf(err) != pets.Invalid {
			t.Errorf("%#v: got error %v, want %q", c.pet, err, c.want)
		}
	}
}

func TestAPetWithAnIdentifierIsOtherwiseTheSame(t *testing.T) {
	p := pets.NewPet{Name: "Rex", CategoryID: -7, Status: pets.Sold}
	want := pets.Pet{ID: 42, Name: "Rex", CategoryID: -7, Status: pets.Sold}
	if got := p.WithID(42); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheGreatestIdentifierIsTheLastThatFloatsKeepWhole(t *testing.T) {
	const id int64 = pets.MaxID
	if got := int64(float64(id)); got != id {
		t.Errorf("got %d as a float, want %d", got, id)
	}
	if float64(id+1) != float64(id+2) {
		t.Errorf("got %d and %d told apart by floats, want a greater MaxID", id+1, id+2)
	}
}
