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
	key := func(s string) func(*pets.NewPet) {
		return func(p *pets.NewPet) { p.Idempotency = pets.Idempotency{KeyID: "mine", Key: s} }
	}
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
		{key(" "), ""},
		{key(strings.Repeat("~", 255)), ""},
		{func(p *pets.NewPet) { p.Idempotency.Key = "k" }, ""},
		{name("a\x00"), "name must not contain U+0000"},
		{name("\xff"), "name must be Unicode"},
		{name("\xed\xa0\x80"), "name must be Unicode"},
		{status(""), "status must be one of available, pending, sold"},
		{status("Sold"), "status must be one of"},
		{key(""), "idempotency key"},
		{key("a\x1f"), "idempotency key"},
		{key("a\x7f"), "idempotency key"},
		{key("é"), "idempotency key"},
		{key(strings.Repeat("~", 256)), "idempotency key"},
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

func TestCheckRepeat(t *testing.T) {
	made := newPet().WithID(7)
	if got := made.WithoutID().WithID(7); !reflect.DeepEqual(got, made) {
		t.Errorf("WithoutID and WithID: got %+v, want %+v", got, made)
	}
	again := made.WithoutID()
	again.Idempotency = pets.Idempotency{KeyID: "mine", Key: "k"}
	if err := again.CheckRepeat(made.WithoutID().Fingerprint()); err != nil {
		t.Errorf("CheckRepeat: got error %v", err)
	}
	for _, change := range []func(*pets.NewPet){
		func(p *pets.NewPet) { p.Name = "rex" },
		func(p *pets.NewPet) { p.CategoryID++ },
		func(p *pets.NewPet) { p.Status = pets.Available },
	} {
		other := made.WithoutID()
		change(&other)
		if err := other.CheckRepeat(made.WithoutID().Fingerprint()); err == nil || pets.KindOf(err) != pets.Reused {
			t.Errorf("CheckRepeat of %+v: got error %v, want Reused", other, err)
		}
	}
}

// TestFingerprintTags checks that every property is part of the fingerprint, and
// that a new one does not change the fingerprints of pets without it.
func TestFingerprintTags(t *testing.T) {
	for field := range reflect.TypeFor[pets.NewPet]().Fields() {
		want := ",omitzero"
		if field.Name == "Idempotency" {
			want = "-"
		}
		if got := field.Tag.Get("json"); got != want {
			t.Errorf("NewPet.%s: got the tag json:%q, want %q", field.Name, got, want)
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
