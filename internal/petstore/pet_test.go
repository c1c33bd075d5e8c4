package petstore_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
)

func TestStatusesAreThoseOfTheDocumentAndNoOthers(t *testing.T) {
	want := []petstore.Status{"available", "pending", "sold"}
	if got := petstore.Statuses(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, s := range petstore.Statuses() {
		if !s.Valid() {
			t.Errorf("%q: got invalid, want valid", s)
		}
	}
	for _, s := range []petstore.Status{"", "Available", "SOLD", " sold", "sold ", "lost", "available\x00", "null"} {
		if s.Valid() {
			t.Errorf("%q: got valid, want invalid", s)
		}
	}
}

func TestAPetIsAvailableUnlessItSaysOtherwise(t *testing.T) {
	p := petstore.NewPet{Name: "Rex", CategoryID: 7}
	want := petstore.NewPet{Name: "Rex", CategoryID: 7, Status: petstore.Available}
	if got := p.WithDefaults(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if p.Status != "" {
		t.Errorf("the pet itself: got status %q, want it unchanged", p.Status)
	}
	// An unknown status is an error to tell, never one to repair.
	for _, s := range append(petstore.Statuses(), "lost", " ") {
		p.Status = s
		if got := p.WithDefaults(); got != p {
			t.Errorf("got %v, want %v", got, p)
		}
	}
}

func TestValidateNamesTheValueNoStoreAccepts(t *testing.T) {
	const badNUL, badText, badStatus = "name must not contain U+0000", "name must be Unicode text", "status must be one of available, pending, sold"
	for _, c := range []struct {
		pet  petstore.NewPet
		want string
	}{
		{petstore.NewPet{Name: "Rex", Status: petstore.Sold}, ""},
		{petstore.NewPet{Name: "", Status: petstore.Available}, ""},
		{petstore.NewPet{Name: " \t\n", CategoryID: math.MinInt64, Status: petstore.Pending}, ""},
		{petstore.NewPet{Name: "\u0001\uffff\ufffd\U0010ffff", CategoryID: math.MaxInt64, Status: petstore.Sold}, ""},
		{petstore.NewPet{Name: strings.Repeat("x", 1<<20), Status: petstore.Sold}, ""},
		{petstore.NewPet{Name: "\x00", Status: petstore.Sold}, badNUL},
		{petstore.NewPet{Name: strings.Repeat("é", 500) + "\x00", Status: petstore.Sold}, badNUL},
		{petstore.NewPet{Name: "\xff", Status: petstore.Sold}, badText},
		{petstore.NewPet{Name: "surrogate \xed\xa0\x80", Status: petstore.Sold}, badText},
		{petstore.NewPet{Name: "cut \xf0\x9f\x90", Status: petstore.Sold}, badText},
		{petstore.NewPet{Name: "Rex"}, badStatus},
		{petstore.NewPet{Name: "Rex", Status: "lost"}, badStatus},
		{petstore.NewPet{Name: "\x00", Status: "lost"}, badNUL},
	} {
		err := c.pet.Validate()
		if c.want == "" {
			if err != nil {
				t.Errorf("%#v: got error %v, want nil", c.pet, err)
			}
			continue
		}
		if err == nil || err.Error() != c.want || petstore.KindOf(err) != petstore.Invalid {
			t.Errorf("%#v: got error %v, want %q", c.pet, err, c.want)
		}
	}
}

func TestAPetWithAnIdentifierIsOtherwiseTheSame(t *testing.T) {
	p := petstore.NewPet{Name: "Rex", CategoryID: -7, Status: petstore.Sold}
	want := petstore.Pet{ID: 42, Name: "Rex", CategoryID: -7, Status: petstore.Sold}
	if got := p.WithID(42); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheGreatestIdentifierIsTheLastThatFloatsKeepWhole(t *testing.T) {
	const id int64 = petstore.MaxID
	if got := int64(float64(id)); got != id {
		t.Errorf("got %d as a float, want %d", got, id)
	}
	if float64(id+1) != float64(id+2) {
		t.Errorf("got %d and %d told apart by floats, want a greater MaxID", id+1, id+2)
	}
}
