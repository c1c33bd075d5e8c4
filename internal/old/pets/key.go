package pets

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"hash/crc32"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TokenPattern is the regular expression of a key's token, for secret scanners
// and redaction. A token that is written right also has the checksum.
const TokenPattern = `psk_[0-9A-Za-z]{8}_[0-9A-Za-z]{36}`

// A key's token reads psk_<id>_<secret><checksum>. The prefix lets secret
// scanners find leaked keys; the checksum (CRC-32 in base 62) tells junk from
// keys without a look into the store. The secret holds 178 bits, so a fast
// hash is enough to keep it.
const (
	tokenPrefix    = "psk_"
	idLength       = 8
	secretLength   = 30
	checksumLength = 6
	tokenLength    = len(tokenPrefix) + idLength + 1 + secretLength + checksumLength

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// MaxKeyName is how many characters the name of a key may have.
const MaxKeyName = 100

// Key is an API key as a store keeps it: enough to recognise its token, not enough
// to make one.
type Key struct {
	ID        string // part of the token, not secret
	Name      string // the operator's note of its user
	Hash      [sha256.Size]byte
	ReadOnly  bool // the key must not change anything
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	UsedAt    time.Time // when the store last heard of its use; zero: never
}

// ClockError is the difference from which a stored time of use that is later than a
// reported one is taken for the time of a wrong clock. A server that cannot reach the
// store reports uses late, but not by a day.
const ClockError = 24 * time.Hour

// UsedLater reports whether a use of the key at that time replaces the one stored:
// it is later, or the stored one cannot be true.
func (k Key) UsedLater(at time.Time) bool {
	return at.After(k.UsedAt) || k.UsedAt.Sub(at) > ClockError
}

// NewKey makes a key that may do everything, and its token. No store keeps the
// token: show it once. A lifetime of 0 means that the key does not expire. NewKey
// fails with Invalid where the name is empty, longer than MaxKeyName or not
// printable.
func NewKey(name string, now time.Time, lifetime time.Duration) (Key, string, error) {
	if err := validateKeyName(name); err != nil {
		return Key{}, "", err
	}
	if lifetime < 0 {
		return Key{}, "", &Error{Kind: Invalid, Message: "the lifetime of a key must not be negative"}
	}
	id := randomBase62(idLength)
	body := tokenPrefix + id + "_" + randomBase62(secretLength)
	token := body + checksum(body)
	k := Key{ID: id, Name: name, Hash: HashToken(token), CreatedAt: now.UTC().Truncate(time.Second)}
	if lifetime > 0 {
		k.ExpiresAt = k.CreatedAt.Add(lifetime).Truncate(time.Second)
	}
	return k, token, nil
}

// Successor makes a key that takes the place of k, and its token: with the same name
// and the same right. It fails as NewKey does.
func (k Key) Successor(now time.Time, lifetime time.Duration) (Key, string, error) {
	successor, token, err := NewKey(k.Name, now, lifetime)
	successor.ReadOnly = k.ReadOnly
	return successor, token, err
}

func validateKeyName(name string) error {
	printable := utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if n := utf8.RuneCountInString(name); n == 0 || n > MaxKeyName || !printable {
		return &Error{Kind: Invalid, Message: "the name of a key must be 1 to 100 printable characters"}
	}
	return nil
}

// KeyIDOf returns the ID in a token that is formed like one of NewKey's and
// whose checksum holds.
func KeyIDOf(token string) (id string, ok bool) {
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return "", false
	}
	body := token[:tokenLength-checksumLength]
	id, secret, found := strings.Cut(body[len(tokenPrefix):], "_")
	if !found || len(id) != idLength || !isBase62(id) || !isBase62(secret) || checksum(body) != token[tokenLength-checksumLength:] {
		return "", false
	}
	return id, true
}

func isBase62(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// HashToken returns the hash by which a store recognises a token.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// HasHash reports whether a token with that hash is this key's. The comparison takes
// the same time whatever the hash.
func (k Key) HasHash(hash [sha256.Size]byte) bool {
	return subtle.ConstantTimeCompare(k.Hash[:], hash[:]) == 1
}

// KeyState says whether a key may still be used.
type KeyState string

// The states of a key.
const (
	KeyActive  KeyState = "active"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked"
)

// State returns the key's state at that time.
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

func randomBase62(n int) string {
	// 248 is the greatest multiple of 62 in a byte: taking only bytes below it
	// keeps every digit equally likely.
	const fair = 248
	out := make([]byte, 0, n)
	var buf [64]byte
	for {
		_, _ = rand.Read(buf[:]) // never fails (crypto/rand)
		for _, b := range buf {
			if b >= fair {
				continue
			}
			if out = append(out, base62[b%62]); len(out) == n {
				return string(out)
			}
		}
	}
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var digits [checksumLength]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}
