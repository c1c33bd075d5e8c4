package pets_test

import (
	"math"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

func TestValidate(t *testing.T) {
	key := func(s string) pets.Idempotency { return pets.Idempotency{KeyID: "mine", Key: s} }
	for _, c := range []struct {
		pet  pets.NewPet
		want string // in the error; "" accepts the pet
	}{
		{pets.NewPet{Status: pets.Available}, ""},
		{pets.NewPet{Name: "\u2028 🐕 \ufffd\U0010ffff", CategoryID: math.MinInt64, Status: pets.Pending}, ""},
		{pets.NewPet{Name: strings.Repeat("x", 1<<20), CategoryID: math.MaxInt64, Status: pets.Sold}, ""},
		{pets.NewPet{Status: pets.Sold, Idempotency: key(" ")}, ""},
		{pets.NewPet{Status: pets.Sold, Idempotency: key(strings.Repeat("~", 255))}, ""},
		{pets.NewPet{Status: pets.Sold, Idempotency: pets.Idempotency{Key: "k"}}, ""},
		{pets.NewPet{Name: "a\x00", Status: pets.Sold}, "name must not contain U+0000"},
		{pets.NewPet{Name: "\xff", Status: pets.Sold}, "name must be Unicode"},
		{pets.NewPet{Name: "\xed\xa0\x80", Status: pets.Sold}, "name must be Unicode"},
		{pets.NewPet{}, "status must be one of available, pending, sold"},
		{pets.NewPet{Status: "Sold"}, "status must be one of"},
		{pets.NewPet{Status: pets.Sold, Idempotency: key("")}, "idempotency key"},
		{pets.NewPet{Status: pets.Sold, Idempotency: key("a\x1f")}, "idempotency key"},
		{pets.NewPet{Status: pets.Sold, Idempotency: key("a\x7f")}, "idempotency key"},
		{pets.NewPet{Status: pets.Sold, Idempotency: key("é")}, "idempotency key"},
		{pets.NewPet{Status: pets.Sold, Idempotency: key(strings.Repeat("~", 256))}, "idempotency key"},
	} {
		err := c.pet.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("Validate of %.80q: got error %v", c.pet.Name, err)
		case c.want != "" && (err == nil || pets.KindOf(err) != pets.Invalid || !strings.Contains(err.Error(), c.want)):
			t.Errorf("Validate of %+v: got error %v, want Invalid with %q", c.pet, err, c.want)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	for status, want := range map[pets.Status]pets.Status{"": pets.Available, pets.Sold: pets.Sold, "lost": "lost"} {
		if got := (pets.NewPet{Name: "Rex", Status: status}).WithDefaults(); got != (pets.NewPet{Name: "Rex", Status: want}) {
			t.Errorf("WithDefaults with status %q: got %+v, want status %q", status, got, want)
		}
	}
}

func TestCheckRepeat(t *testing.T) {
	made := pets.Pet{ID: 7, Name: "Rex", CategoryID: 1, Status: pets.Sold}
	if got := made.WithoutID().WithID(7); got != made {
		t.Errorf("WithoutID and WithID: got %+v, want %+v", got, made)
	}
	again := made.WithoutID()
	again.Idempotency = pets.Idempotency{KeyID: "mine", Key: "k"}
	if got, err := again.CheckRepeat(made); err != nil || got != made {
		t.Errorf("CheckRepeat: got %+v, error %v, want %+v", got, err, made)
	}
	for _, change := range []func(*pets.NewPet){
		func(p *pets.NewPet) { p.Name = "rex" },
		func(p *pets.NewPet) { p.CategoryID++ },
		func(p *pets.NewPet) { p.Status = pets.Available },
	} {
		other := made.WithoutID()
		change(&other)
		if got, err := other.CheckRepeat(made); err == nil || pets.KindOf(err) != pets.Reused || got != (pets.Pet{}) {
			t.Errorf("CheckRepeat of %+v: got %+v, error %v, want Reused", other, got, err)
		}
	}
}
