package pets

import (
	"fmt"
	"iter"
)

// Validated yields the pets that Load stores, with the identifier 0, up to the
// first error. All stores use it, or ValidatedWithIDs, so that they reject the
// same input.
func Validated(all iter.Seq2[NewPet, error]) iter.Seq2[Pet, error] {
	return validated(all, func(p NewPet, _ int64) (Pet, error) { return p.WithID(0), p.Validate() })
}

// ValidatedWithIDs yields the pets that LoadWithIDs stores, up to the first
// error.
func ValidatedWithIDs(all iter.Seq2[Pet, error]) iter.Seq2[Pet, error] {
	return validated(all, func(p Pet, last int64) (Pet, error) {
		if err := p.WithoutID().Validate(); err != nil {
			return p, err
		}
		return p, CheckNextID(p.ID, last)
	})
}

// validated passes each pet to check, with the identifier of the one before it.
func validated[P any](all iter.Seq2[P, error], check func(p P, last int64) (Pet, error)) iter.Seq2[Pet, error] {
	return func(yield func(Pet, error) bool) {
		n, last := 0, Pet{}
		for p, err := range all {
			n++
			if err == nil {
				if last, err = check(p, last.ID); err != nil {
					err = &Error{Kind: Invalid, Message: fmt.Sprintf("pet %d", n), Err: err}
				}
			}
			if !yield(last, err) || err != nil {
				return
			}
		}
	}
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
