// Package keys creates API keys and authenticates their tokens. It imports no
// other package of this module.
package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Key is an API key as a store keeps it: enough to recognise its token, but
// not enough to make one. Times are in UTC and whole seconds.
type Key struct {
	ID        string // part of the token, not secret
	Name      string // the operator's note of who uses the key
	Hash      [sha256.Size]byte
	ReadOnly  bool // the key may only use operations that change nothing
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	UsedAt    time.Time // last recorded use; zero: never
}

// State says whether a key works.
type State string

// The states of a key.
const (
	Active  State = "active"
	Expired State = "expired"
	Revoked State = "revoked"
	Unknown State = "unknown" // there is no such key; only in a Refusal
)

// State returns the key's state at the time now.
func (k Key) State(now time.Time) State {
	switch {
	case !k.RevokedAt.IsZero():
		return Revoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return Expired
	default:
		return Active
	}
}

// ErrNotFound means that a store has no key with the given ID.
var ErrNotFound = errors.New("there is no such key")

// Store keeps API keys. It knows only the hashes of their tokens. Its methods are
// safe for concurrent use. Any error but ErrNotFound means that the store failed.
type Store interface {
	// CreateKey stores k, whose ID must be new.
	CreateKey(ctx context.Context, k Key) error

	// Key returns the key with the given ID, even if it is revoked or
	// expired, or ErrNotFound.
	Key(ctx context.Context, id string) (Key, error)

	// Keys returns all keys, oldest first.
	Keys(ctx context.Context) ([]Key, error)

	// RevokeKey marks a key as revoked and returns it, or ErrNotFound. A key
	// that is already revoked keeps its earlier time.
	RevokeKey(ctx context.Context, id string, at time.Time) (Key, error)

	// RecordKeyUse stores when each key, given by its ID, was last used,
	// unless a later time is already stored. It ignores unknown keys.
	RecordKeyUse(ctx context.Context, used map[string]time.Time) error
}
