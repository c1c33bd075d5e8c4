package keys

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"example.com/petstore/internal/pets"
)

const (
	// A revoked key may work for at most cacheTTL and the time of one look-up.
	// The documented limit is 5 s.
	cacheTTL      = 2 * time.Second
	lookupTimeout = 2 * time.Second

	// maxUnknownLookups limits concurrent look-ups of keys that are not in
	// the cache, so that made-up keys cannot overload the store.
	maxUnknownLookups = 16

	minFixedLength = 16
)

// b64token is the form of a bearer token (RFC 6750, section 2.1).
var b64token = regexp.MustCompile(`^[0-9A-Za-z._~+/-]+=*$`)

// Keyring authenticates tokens. It caches keys of the store for 2 s, but does not
// cache unknown keys. It is a prometheus.Collector of cache metrics.
type Keyring struct {
	store pets.KeyStore
	fixed []fixedKey
	now   func() time.Time

	flights singleflight.Group
	unknown chan struct{} // one element for each look-up of an unknown key

	mu    sync.Mutex
	known map[string]knownKey
	used  map[string]time.Time // not yet recorded in the store

	lookups      *prometheus.CounterVec
	hits, misses prometheus.Counter
}

type fixedKey struct {
	id   string
	hash [sha256.Size]byte
}

type knownKey struct {
	pets.Key
	asked time.Time // when its look-up began
}

// Grant is what an accepted token allows.
type Grant struct {
	KeyID    string
	ReadOnly bool
}

// Refusal is the error that Authenticate returns for an invalid token.
type Refusal struct {
	KeyID  string // empty unless the key exists and the token has its secret
	Reason string // Unknown, Expired or Revoked
}

// The reasons of a Refusal.
const (
	Unknown = "unknown"
	Expired = "expired"
	Revoked = "revoked"
)

func (r *Refusal) Error() string { return "the API key is " + r.Reason }

// NewKeyring returns a keyring of the keys in store and of fixed tokens. Fixed
// tokens need no store, may read and write, and never expire. NewKeyring fails if
// CheckFixed does.
func NewKeyring(store pets.KeyStore, fixed []string, now func() time.Time) (*Keyring, error) {
	k := &Keyring{
		store:   store,
		now:     now,
		unknown: make(chan struct{}, maxUnknownLookups),
		known:   map[string]knownKey{},
		used:    map[string]time.Time{},
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_key_cache_lookups_total", Help: "API keys found in the cache (hit) or looked up in the store (miss).",
		}, []string{"result"}),
	}
	k.hits, k.misses = k.lookups.WithLabelValues("hit"), k.lookups.WithLabelValues("miss")
	if err := CheckFixed(fixed); err != nil {
		return nil, err
	}
	for _, token := range fixed {
		hash := Hash(token)
		k.fixed = append(k.fixed, fixedKey{id: "fixed-" + hex.EncodeToString(hash[:4]), hash: hash})
	}
	return k, nil
}

// CheckFixed returns an error unless each fixed token is a b64token of at least
// 16 characters. The error does not repeat the token.
func CheckFixed(tokens []string) error {
	for i, token := range tokens {
		if len(token) < minFixedLength || !b64token.MatchString(token) {
			return fmt.Errorf("key %d of %d is invalid: a key must be at least %d characters of A-Z a-z 0-9 - . _ ~ + / with = only at its end", i+1, len(tokens), minFixedLength)
		}
	}
	return nil
}

// Authenticate returns what a token allows, or a *Refusal. Any other error means
// that the store failed and the token could not be checked.
func (k *Keyring) Authenticate(ctx context.Context, token string) (Grant, error) {
	hash := Hash(token)
	for _, f := range k.fixed {
		if equal(f.hash, hash) {
			return Grant{KeyID: f.id}, nil
		}
	}
	id, ok := ID(token)
	if !ok {
		return Grant{}, &Refusal{Reason: Unknown}
	}
	key, err := k.key(ctx, id)
	switch {
	case pets.KindOf(err) == pets.NotFound:
		return Grant{}, &Refusal{Reason: Unknown}
	case err != nil:
		return Grant{}, err
	case !equal(key.Hash, hash):
		return Grant{}, &Refusal{Reason: Unknown}
	}
	now := k.now()
	switch key.State(now) {
	case pets.KeyExpired:
		return Grant{}, &Refusal{KeyID: id, Reason: Expired}
	case pets.KeyRevoked:
		return Grant{}, &Refusal{KeyID: id, Reason: Revoked}
	}
	k.mu.Lock()
	k.used[id] = now
	k.mu.Unlock()
	return Grant{KeyID: id, ReadOnly: key.ReadOnly}, nil
}

func equal(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// key returns the key with the given ID from the cache or the store.
func (k *Keyring) key(ctx context.Context, id string) (pets.Key, error) {
	k.mu.Lock()
	key, known := k.known[id]
	k.mu.Unlock()
	if known && k.now().Sub(key.asked) < cacheTTL {
		k.hits.Inc()
		return key.Key, nil
	}
	k.misses.Inc()
	// Concurrent callers share one look-up, so it must not end with the
	// context of the first.
	v, err, _ := k.flights.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		return k.lookup(ctx, id, known)
	})
	if err != nil {
		return pets.Key{}, err
	}
	return v.(pets.Key), nil
}

func (k *Keyring) lookup(ctx context.Context, id string, known bool) (pets.Key, error) {
	if !known {
		select {
		case k.unknown <- struct{}{}:
			defer func() { <-k.unknown }()
		case <-ctx.Done():
			return pets.Key{}, &pets.Error{Kind: pets.Unavailable, Message: "too many unknown keys are being looked up"}
		}
	}
	asked := k.now()
	key, err := k.store.Key(ctx, id)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		k.known[id] = knownKey{key, asked}
	case pets.KindOf(err) == pets.NotFound:
		delete(k.known, id)
	}
	return key, err
}

// Describe implements prometheus.Collector.
func (k *Keyring) Describe(ch chan<- *prometheus.Desc) { k.lookups.Describe(ch) }

// Collect implements prometheus.Collector.
func (k *Keyring) Collect(ch chan<- prometheus.Metric) { k.lookups.Collect(ch) }
