package pets

import "strings"

// MaxIdempotencyKey is how many characters an idempotency key may have.
const MaxIdempotencyKey = 255

// Idempotency names one idempotent request for a pet, so that the request can
// be repeated without a second pet. The zero value names none.
type Idempotency struct {
	KeyID string // the API key it was sent with: its scope
	Key   string // 1 to MaxIdempotencyKey printable ASCII characters
}

// IsZero reports whether i names no idempotent request.
func (i Idempotency) IsZero() bool { return i == Idempotency{} }

func (i Idempotency) validate() error {
	if i.IsZero() {
		return nil
	}
	unprintable := strings.ContainsFunc(i.Key, func(r rune) bool { return r < ' ' || r > '~' })
	if i.Key == "" || len(i.Key) > MaxIdempotencyKey || unprintable {
		return &Error{Kind: Invalid, Message: "an idempotency key must be 1 to 255 printable ASCII characters"}
	}
	return nil
}

// Repeats returns made, the pet that p's idempotency key has made before, where p is
// the same pet sent again. Where p is another pet, it fails with the kind Reused. The
// comparison is that of Go, by which two pointers to the same text differ: a property
// of a pet must be a value.
func (p NewPet) Repeats(made Pet) (Pet, error) {
	if p.WithID(made.ID) != made {
		return Pet{}, &Error{Kind: Reused, Message: "this Idempotency-Key was used for another animal; send a new key for a new animal"}
	}
	return made, nil
}
