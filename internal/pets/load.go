package pets

import (
	"fmt"
	"iter"
)

// Validated yields the pets that Load stores, with the identifier 0, up to the
// first error. All stores use it, or ValidatedWithIDs, so that they reject the
// same input.
func Validated(pets iter.Seq2[NewPet, error]) iter.Seq2[Pet, error] {
	return func(yield func(Pet, error) bool) {
		n := 0
		for p, err := range pets {
			n++
			if err == nil {
				err = p.loadable(n)
			}
			if !yield(p.WithID(0), err) || err != nil {
				return
			}
		}
	}
}

// ValidatedWithIDs yields the pets that LoadWithIDs stores, up to the first
// error.
func ValidatedWithIDs(pets iter.Seq2[Pet, error]) iter.Seq2[Pet, error] {
	return func(yield func(Pet, error) bool) {
		n, last := 0, int64(0)
		for p, err := range pets {
			n++
			if err == nil {
				err = p.WithoutID().loadable(n)
			}
			if err == nil {
				err = CheckNextID(p.ID, last)
			}
			last = p.ID
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

func (p NewPet) loadable(n int) error {
	if err := p.Validate(); err != nil {
		return &Error{Kind: Invalid, Message: fmt.Sprintf("pet %d", n), Err: err}
	}
	return nil
}

// CheckNextID returns an Invalid error unless id is valid and greater than last,
// the identifier of the pet loaded before it, or 0 if there is none.
func CheckNextID(id, last int64) error {
	switch {
	case id < 1 || id > MaxID:
		return &Error{Kind: Invalid, Message: fmt.Sprintf("id must be between 1 and %d", int64(MaxID))}
	case id <= last:
		return &Error{Kind: Invalid, Message: fmt.Sprintf("id must be greater than the one before it, %d", last)}
	}
	return nil
}
