package pets_test

import (
	"math"
	"reflect"
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

// fill gives each field of a pet but the idempotency key a value that is not zero.
func fill(t *testing.T, pet reflect.Value) {
	t.Helper()
	for field, value := range pet.Fields() {
		switch {
		case field.Name == "Idempotency":
		case value.CanInt():
			value.SetInt(7)
		case value.CanUint():
			value.SetUint(7)
		case value.Kind() == reflect.String:
			value.SetString("x")
		case value.Kind() == reflect.Bool:
			value.SetBool(true)
		case value.Kind() == reflect.Struct:
			fill(t, value)
		default:
			t.Errorf("%s: got the type %s, want a value that == compares: an idempotent repeat is told by it", field.Name, field.Type)
		}
	}
}

func TestEveryPropertyOfAPetIsAValueAndKeptWithAndWithoutAnIdentifier(t *testing.T) {
	var p pets.NewPet
	fill(t, reflect.ValueOf(&p).Elem())
	made := p.WithID(42)
	for field, value := range reflect.ValueOf(made).Fields() {
		if value.IsZero() {
			t.Errorf("Pet.%s: got its zero value, want the value of NewPet: pet.go", field.Name)
		}
	}
	if got := made.WithoutID(); got != p {
		t.Errorf("with an identifier and without it again: got %+v, want %+v: pet.go", got, p)
	}
	if reflect.TypeFor[pets.NewPet]().NumField() != reflect.TypeFor[pets.Pet]().NumField() {
		t.Error("NewPet and Pet: got fields of one alone, want Idempotency and ID to be the only ones: pet.go")
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
