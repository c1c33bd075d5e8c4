package pets_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
)

// newPet returns a valid pet.
func newPet() pets.NewPet {
	p := example.Pet()
	p.Status = pets.Sold
	return p
}

func TestValidate(t *testing.T) {
	name := func(s string) func(*pets.NewPet) { return func(p *pets.NewPet) { p.Name = s } }
	status := func(s pets.Status) func(*pets.NewPet) { return func(p *pets.NewPet) { p.Status = s } }
	for _, c := range []struct {
		change func(*pets.NewPet)
		want   string // in the error; "" accepts the pet
	}{
		{name(""), ""},
		{name("\u2028 🐕 \ufffd\U0010ffff"), ""},
		{name(strings.Repeat("x", 1<<20)), ""},
		{func(p *pets.NewPet) { p.CategoryID = math.MinInt64 }, ""},
		{func(p *pets.NewPet) { p.CategoryID = math.MaxInt64 }, ""},
		{status(pets.Available), ""},
		{status(pets.Pending), ""},
		{name("a\x00"), "name must not contain U+0000"},
		{name("\xff"), "name must be Unicode"},
		{name("\xed\xa0\x80"), "name must be Unicode"},
		{status(""), "status must be one of available, pending, sold"},
		{status("Sold"), "status must be one of"},
	} {
		p := newPet()
		c.change(&p)
		err := p.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("Validate of %.80q: got error %v", p.Name, err)
		case c.want != "" && (err == nil || pets.KindOf(err) != pets.Invalid || !strings.Contains(err.Error(), c.want)):
			t.Errorf("Validate of %+v: got error %v, want Invalid with %q", p, err, c.want)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	for status, want := range map[pets.Status]pets.Status{"": pets.Available, pets.Sold: pets.Sold, "lost": "lost"} {
		p, filled := newPet(), newPet()
		p.Status, filled.Status = status, want
		if got := p.WithDefaults(); !reflect.DeepEqual(got, filled) {
			t.Errorf("WithDefaults with status %q: got %+v, want status %q", status, got, want)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	for key, valid := range map[string]bool{
		"k": true, " ": true, strings.Repeat("~", 255): true,
		"": false, "a\x1f": false, "a\x7f": false, "é": false, strings.Repeat("~", 256): false,
	} {
		err := pets.IdempotencyKey{KeyID: "mine", Key: key}.Validate()
		if valid != (err == nil) || !valid && pets.KindOf(err) != pets.Invalid {
			t.Errorf("Validate of %.20q: got error %v, want valid: %v", key, err, valid)
		}
	}
	if err := (pets.IdempotencyKey{}).Validate(); err != nil {
		t.Errorf("Validate of no key: got error %v", err)
	}
}

func TestCheckRepeat(t *testing.T) {
	if err := newPet().CheckRepeat(newPet().Fingerprint()); err != nil {
		t.Errorf("CheckRepeat: got error %v", err)
	}
	for _, change := range []func(*pets.NewPet){
		func(p *pets.NewPet) { p.Name = "rex" },
		func(p *pets.NewPet) { p.CategoryID++ },
		func(p *pets.NewPet) { p.Status = pets.Available },
	} {
		other := newPet()
		change(&other)
		if err := other.CheckRepeat(newPet().Fingerprint()); err == nil || pets.KindOf(err) != pets.Reused {
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
		for i, size := range c.sizes {
			p := newPet()
			p.Name = strings.Repeat("x", size)
			if got, want := page.Add(pets.Pet{ID: int64(i + 1), NewPet: p}, c.limit), i < c.want; got != want {
				t.Errorf("%v by %d, Add of pet %d: got %v, want %v", c.sizes, c.limit, i+1, got, want)
			}
			if page.More != (i >= c.want) {
				t.Errorf("%v by %d, after pet %d: got more %v", c.sizes, c.limit, i+1, page.More)
			}
			if page.More {
				break
			}
		}
		if len(page.Pets) != c.want {
			t.Errorf("%v by %d: got %d pets, want %d", c.sizes, c.limit, len(page.Pets), c.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	cause := errors.New("cause")
	err := &pets.Error{Kind: pets.Unavailable, Message: "away", Err: &pets.Error{Kind: pets.Invalid, Message: "inner", Err: cause}}
	for _, c := range []struct {
		err  error
		want pets.Kind
	}{
		{nil, pets.Internal},
		{cause, pets.Internal},
		{err, pets.Unavailable},
		{fmt.Errorf("outer: %w", err), pets.Unavailable},
		{errors.Join(cause, pets.NoSuchPet(1)), pets.NotFound},
	} {
		if got := pets.KindOf(c.err); got != c.want {
			t.Errorf("KindOf(%v): got %v, want %v", c.err, got, c.want)
		}
	}
	if !errors.Is(err, cause) || err.Error() != "away: inner: cause" {
		t.Errorf("error: got %q, want away: inner: cause", err)
	}
}
