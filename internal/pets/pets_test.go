package pets_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		pets.NewPet
		want string // "" accepts the pet
	}{
		{pets.NewPet{Name: "", Status: pets.Sold}, ""},
		{pets.NewPet{Name: "\u2028 🐕 \ufffd\U0010ffff", Status: pets.Available}, ""},
		{pets.NewPet{Name: strings.Repeat("x", 1<<20), Status: pets.Pending}, ""},
		{pets.NewPet{CategoryID: math.MinInt64, Status: pets.Sold}, ""},
		{pets.NewPet{CategoryID: math.MaxInt64, Status: pets.Sold}, ""},
		{pets.NewPet{Name: "a\x00", Status: pets.Sold}, "name must not contain U+0000"},
		{pets.NewPet{Name: "\xff", Status: pets.Sold}, "name must be Unicode text"},
		{pets.NewPet{Name: "\xed\xa0\x80", Status: pets.Sold}, "name must be Unicode text"},
		{pets.NewPet{Status: ""}, "status must be one of available, pending, sold"},
		{pets.NewPet{Status: "Sold"}, "status must be one of available, pending, sold"},
	} {
		err := c.Validate()
		if c.want == "" && err != nil || c.want != "" && (fault.KindOf(err) != fault.InvalidBody || err.Error() != c.want) {
			t.Errorf("Validate of %.80q, %d, %q: got error %v, want %q", c.Name, c.CategoryID, c.Status, err, c.want)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	for status, want := range map[pets.Status]pets.Status{"": pets.Available, pets.Sold: pets.Sold, "lost": "lost"} {
		p, filled := example.Pet(), example.Pet()
		p.Status, filled.Status = status, want
		if got := p.WithDefaults(); !reflect.DeepEqual(got, filled) {
			t.Errorf("WithDefaults: got %+v, want %+v", got, filled)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	for key, valid := range map[string]bool{
		"k": true, " ": true, strings.Repeat("~", 255): true,
		"": false, "a\x1f": false, "a\x7f": false, "é": false, strings.Repeat("~", 256): false,
	} {
		err := pets.IdempotencyKey{KeyID: "mine", Key: key}.Validate()
		if valid != (err == nil) || !valid && fault.KindOf(err) != fault.InvalidRequest {
			t.Errorf("Validate of %.20q: got error %v, want valid: %v", key, err, valid)
		}
	}
	if err := (pets.IdempotencyKey{}).Validate(); err != nil {
		t.Errorf("Validate of no key: got error %v", err)
	}
}

func TestCheckRepeat(t *testing.T) {
	p := pets.NewPet{Name: "Rex", CategoryID: 1, Status: pets.Sold}
	if err := p.CheckRepeat(p.Fingerprint()); err != nil {
		t.Errorf("CheckRepeat: got error %v", err)
	}
	for _, other := range []pets.NewPet{
		{Name: "rex", CategoryID: 1, Status: pets.Sold},
		{Name: "Rex", CategoryID: 2, Status: pets.Sold},
		{Name: "Rex", CategoryID: 1, Status: pets.Available},
	} {
		if err := other.CheckRepeat(p.Fingerprint()); err == nil || fault.KindOf(err) != fault.IdempotencyKeyReused {
			t.Errorf("CheckRepeat of %+v: got error %v, want Reused", other, err)
		}
	}
}

// TestFingerprintTags checks that every property is part of the fingerprint, and
// that a new one does not change the fingerprints of pets without it.
func TestFingerprintTags(t *testing.T) {
	for field := range reflect.TypeFor[pets.NewPet]().Fields() {
		if got, want := field.Tag.Get("json"), ",omitzero"; got != want {
			t.Errorf("NewPet.%s: got the tag json:%q, want %q", field.Name, got, want)
		}
	}
}

func TestPage(t *testing.T) {
	const most = pets.MaxPageText
	for _, c := range []struct {
		sizes []int // of the names
		limit int
		want  int // pets on the page
	}{
		{nil, 3, 0},
		{[]int{1, 1, 1}, 3, 3},
		{[]int{1, 1, 1, 1}, 3, 3},
		{[]int{most - 1, 0, 1, 0}, 9, 3},
		{[]int{most, 0}, 9, 1},
		{[]int{2 * most, 2 * most}, 9, 1},
		{[]int{0, 0, 2 * most}, 9, 3},
	} {
		var page pets.Page
		added := 0
		for _, size := range c.sizes {
			if page.Add(pets.Pet{NewPet: pets.NewPet{Name: strings.Repeat("x", size)}}, c.limit) {
				added++
			}
		}
		if added != c.want || len(page.Pets) != c.want || page.More != (c.want < len(c.sizes)) {
			t.Errorf("%v by %d: got %d added, %d pets, more %v, want %d",
				c.sizes, c.limit, added, len(page.Pets), page.More, c.want)
		}
	}
}
