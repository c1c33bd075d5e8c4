package pets

import (
	"fmt"
	"iter"
)

// Loading returns pets as Load stores them, without identifiers, up to the
// first that it refuses. Every store goes through it, or through LoadingWithIDs, so
// that they refuse the same.
func Loading(pets iter.Seq2[NewPet, error]) iter.Seq2[Pet, error] {
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

// LoadingWithIDs returns pets as LoadWithIDs stores them, up to the first that it
// refuses.
func LoadingWithIDs(pets iter.Seq2[Pet, error]) iter.Seq2[Pet, error] {
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
	err := p.Validate()
	if err == nil && !p.Idempotency.IsZero() {
		err = &Error{Kind: Invalid, Message: "an animal that is loaded has no idempotency key"}
	}
	if err != nil {
		return &Error{Kind: Invalid, Message: fmt.Sprintf("animal %d", n), Err: err}
	}
	return nil
}

// CheckNextID returns an Invalid error where id cannot be the identifier of the
// pet that is loaded after the pet with the identifier last, 0 for none.
func CheckNextID(id, last int64) error {
	switch {
	case id < 1 || id > MaxID:
		return &Error{Kind: Invalid, Message: fmt.Sprintf("id must be between 1 and %d", int64(MaxID))}
	case id <= last:
		return &Error{Kind: Invalid, Message: fmt.Sprintf("id must be greater than the one before it, %d", last)}
	}
	return nil
}

// ErrNotEmpty is the Invalid error of LoadWithIDs for a store that holds pets.
var ErrNotEmpty = &Error{Kind: Invalid, Message: "the store holds animals already, and only an empty one can be restored into"}
