package pets

import (
	"crypto/sha256"
	"time"
)

// Key is an API key as a store keeps it: enough to recognise its token, but
// not enough to make one. Times are in UTC and whole seconds.
type Key struct {
	ID        string // part of the token, not secret
	Name      string // the operator's note of who uses the key
	Hash      [sha256.Size]byte
	ReadOnly  bool // the key may list and get, but not create
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	UsedAt    time.Time // last recorded use; zero: never
}

// KeyState says whether a key works.
type KeyState string

// The states of a key.
const (
	KeyActive  KeyState = "active"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked"
)

// State returns the key's state at the time now.
func (k Key) State(now time.Time) KeyState {
	switch {
	case !k.RevokedAt.IsZero():
		return KeyRevoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return KeyExpired
	default:
		return KeyActive
	}
}
