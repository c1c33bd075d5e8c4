package pets_test

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

var errBroken = errors.New("the file broke off")

// sequence yields all, errBroken, and one more.
func sequence[P any](all ...P) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
		if yield(*new(P), errBroken) {
			yield(*new(P), nil)
		}
	}
}

// collect returns the pets up to the first error.
func collect(t *testing.T, seq iter.Seq2[pets.Pet, error]) (all []pets.Pet, last error) {
	t.Helper()
	for p, err := range seq {
		if last != nil {
			t.Errorf("got %+v, error %v after the error %v", p, err, last)
		}
		if last = err; err == nil {
			all = append(all, p)
		}
	}
	return all, last
}

func TestValidated(t *testing.T) {
	good, bad := newPet(), newPet()
	bad.Name = "\x00"
	all, err := collect(t, pets.Validated(sequence(good, good)))
	if len(all) != 2 || !reflect.DeepEqual(all[0], good.WithID(0)) || err != errBroken {
		t.Errorf("Validated: got %+v, error %v, want two pets and the same error", all, err)
	}
	all, err = collect(t, pets.Validated(sequence(good, bad, good)))
	if len(all) != 1 || err == nil || pets.KindOf(err) != pets.Invalid || err.Error() != "pet 2: name must not contain U+0000" {
		t.Errorf("Validated an invalid pet: got %+v, error %v, want one pet and Invalid of pet 2", all, err)
	}
}

func TestValidatedWithIDs(t *testing.T) {
	pet := func(id int64) pets.Pet { return newPet().WithID(id) }
	lost := pet(6)
	lost.Status = "lost"
	all, err := collect(t, pets.ValidatedWithIDs(sequence(pet(1), pet(5), pet(pets.MaxID))))
	if len(all) != 3 || !reflect.DeepEqual(all[1], pet(5)) || err != errBroken {
		t.Errorf("ValidatedWithIDs: got %+v, error %v, want three pets and the same error", all, err)
	}
	for _, c := range []struct {
		pet  pets.Pet
		want string
	}{
		{pet(0), "id must be between 1 and 9007199254740991"},
		{pet(-1), "id must be between"},
		{pet(pets.MaxID + 1), "id must be between"},
		{pet(5), "id must be greater than the one before it, 5"},
		{pet(4), "id must be greater"},
		{lost, "pet 2: status"},
	} {
		all, err := collect(t, pets.ValidatedWithIDs(sequence(pet(5), c.pet, pet(7))))
		if len(all) != 1 || err == nil || pets.KindOf(err) != pets.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ValidatedWithIDs of %+v: got %+v, error %v, want one pet and Invalid with %q", c.pet, all, err, c.want)
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
