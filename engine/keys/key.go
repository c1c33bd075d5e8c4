// Package keys creates API keys and authenticates their tokens. A Store keeps only hashes, so a token
// must be shown when its key is created. A revoked key works for at most 5 s more.
package keys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/engine/fault"
)

// Key is an API key as a store keeps it: it can verify the token, but not produce it. Times are
// in UTC and whole seconds.
type Key struct {
	ID        string            `json:"id"`   // part of the token, not secret
	Name      string            `json:"name"` // chosen by the operator, to tell who uses the key
	Hash      [sha256.Size]byte `json:"-"`
	ReadOnly  bool              `json:"readOnly"` // the key may only use operations that change nothing
	CreatedAt time.Time         `json:"createdAt"`
	ExpiresAt time.Time         `json:"expiresAt,omitzero"` // zero: never
	RevokedAt time.Time         `json:"revokedAt,omitzero"` // zero: not revoked
	UsedAt    time.Time         `json:"usedAt,omitzero"`    // last recorded use; zero: never
}

// State says whether a key works.
type State string

const (
	Active  State = "active"
	Expired State = "expired"
	Revoked State = "revoked"
)

// State returns the key's state at the time now.
func (k Key) State(now time.Time) State {
	switch {
	case !k.RevokedAt.IsZero():
		return Revoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return Expired
	}
	return Active
}

// ErrNotFound means that a store has no key with the given ID. It has the kind NotFound.
var ErrNotFound error = fault.New(fault.NotFound, "there is no such key")

// Store keeps API keys. It knows only the hashes of their tokens. Its methods are safe for
// concurrent use. Any error but ErrNotFound means that the store failed.
type Store interface {
	// CreateKey stores k, whose ID must be new.
	CreateKey(ctx context.Context, k Key) error

	// Key returns the key with the given ID, even if it is revoked or expired, or ErrNotFound.
	Key(ctx context.Context, id string) (Key, error)

	// Keys returns all keys, oldest first.
	Keys(ctx context.Context) ([]Key, error)

	// RevokeKey marks a key as revoked and returns it, or ErrNotFound. A key that is already
	// revoked keeps its earlier time.
	RevokeKey(ctx context.Context, id string, at time.Time) (Key, error)

	// RecordKeyUse stores when each key, given by its ID, was last used, unless a later time is
	// already stored. It ignores unknown keys.
	RecordKeyUse(ctx context.Context, used map[string]time.Time) error
}

// A token is <prefix>_<id>_<secret><checksum>. The checksum is the CRC-32 of the text before it, so
// that most invalid tokens are rejected without a lookup. The secret has at least 150 random
// bits, so a fast hash is enough to protect it.
var form = regexp.MustCompile(`^([a-z][a-z0-9]*_([0-9A-Za-z]{8})_[0-9A-Za-z]{30})([0-9A-Za-z]{6})$`)

// Pattern matches a token with a prefix and also the beginning of one, to keep both out of a log.
func Pattern(prefix string) *regexp.Regexp { return regexp.MustCompile(prefix + `_\w+`) }

// New returns a new key and its token, which no store keeps. A lifetime of 0 means that the key does not
// expire. New fails unless name has 1 to 100 printable characters, lifetime is not negative, and prefix
// is a letter a-z, perhaps with more letters and digits.
func New(prefix, name string, readOnly bool, now time.Time, lifetime time.Duration) (Key, string, error) {
	unprintable := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if n := utf8.RuneCountInString(name); n < 1 || n > 100 || unprintable || !utf8.ValidString(name) {
		return Key{}, "", errors.New("the name of a key must be 1 to 100 printable characters")
	}
	if lifetime < 0 {
		return Key{}, "", errors.New("the lifetime of a key must not be negative")
	}
	random := rand.Text() + rand.Text()
	id := random[:8]
	body := prefix + "_" + id + "_" + random[8:38]
	token := body + checksum(body)
	if _, ok := tokenID(token); !ok {
		return Key{}, "", errors.New("the prefix of a key must be a letter a-z, perhaps with more letters and digits")
	}
	hash := sha256.Sum256([]byte(token))
	k := Key{ID: id, Name: name, Hash: hash, ReadOnly: readOnly, CreatedAt: now.UTC().Truncate(time.Second)}
	if lifetime > 0 {
		k.ExpiresAt = k.CreatedAt.Add(lifetime).Truncate(time.Second)
	}
	return k, token, nil
}

// tokenID returns the key ID in a token, if the token has a valid form and checksum.
func tokenID(token string) (id string, ok bool) {
	parts := form.FindStringSubmatch(token)
	if parts == nil || checksum(parts[1]) != parts[3] {
		return "", false
	}
	return parts[2], true
}

func checksum(body string) string {
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := crc32.ChecksumIEEE([]byte(body))
	var digits [6]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}
