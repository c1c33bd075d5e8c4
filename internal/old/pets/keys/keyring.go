// Package keys decides whether an API key is valid. It caches known keys for
// a few seconds, and unknown ones never.
package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"example.com/petstore/internal/old/edge/metrics"
	"example.com/petstore/internal/old/pets"
)

// cacheTTL is how long a known key is trusted without asking the store: the
// longest time a revoked key goes on working, less the time of one look-up. The
// promise is 5 s.
const cacheTTL = 2 * time.Second

// lookupTimeout bounds one look-up, so that cacheTTL and it stay below the
// promise together.
const lookupTimeout = 2 * time.Second

// maxUnknownLookups is how many unknown keys are looked up at a time. Other
// look-ups of unknown keys wait in line for lookupTimeout: a client that sends ever
// new keys must not keep the store from requests with known keys.
const maxUnknownLookups = 16

// minFixedLength keeps fixed keys out of reach of guessing.
const minFixedLength = 16

// Keyring recognises keys. It is safe for concurrent use.
type Keyring struct {
	store pets.KeyStore
	fixed map[[sha256.Size]byte]string
	now   func() time.Time

	flights        singleflight.Group
	unknownLookups chan struct{} // holds a token for each look-up of an unknown key

	mu    sync.RWMutex
	known map[string]entry

	hits, misses, shed atomic.Uint64
}

// entry is a known key.
type entry struct {
	key   pets.Key
	asked time.Time
	use   *use
}

// Grant is the right that a valid key gives its caller.
type Grant struct {
	KeyID    string
	ReadOnly bool // nothing may be changed
}

// Refusal is the reason that a token opens nothing.
type Refusal string

// The refusals. The secret of an expired or revoked key was right.
const (
	Accepted Refusal = "" // the token is a valid key's
	Unknown  Refusal = "unknown"
	Expired  Refusal = "expired"
	Revoked  Refusal = "revoked"
)

// CheckFixed returns an error where a fixed key is not at least 16 characters of
// RFC 6750's b64token. The error does not repeat the key.
func CheckFixed(fixed []string) error {
	for i, token := range fixed {
		if len(token) < minFixedLength || !tokenForm.MatchString(token) {
			return fmt.Errorf("key %d of %d is unfit: a key must be at least %d characters of A-Z a-z 0-9 - . _ ~ + / with = only at its end", i+1, len(fixed), minFixedLength)
		}
	}
	return nil
}

// New returns a keyring of the keys in store and of the fixed ones. It fails
// where CheckFixed does.
func New(store pets.KeyStore, fixed []string, now func() time.Time) (*Keyring, error) {
	if err := CheckFixed(fixed); err != nil {
		return nil, err
	}
	k := &Keyring{
		store: store,
		fixed: map[[sha256.Size]byte]string{},
		now:   now,
		known: map[string]entry{},

		unknownLookups: make(chan struct{}, maxUnknownLookups),
	}
	for _, token := range fixed {
		hash := pets.HashToken(token)
		k.fixed[hash] = "fixed-" + hex.EncodeToString(hash[:4])
	}
	return k, nil
}

// Fixed returns how many fixed keys there are.
func (k *Keyring) Fixed() int { return len(k.fixed) }

// Authenticate returns the right of the key with that token, or why it is refused. Of
// an expired or revoked key the grant has the ID alone. An error means that the store
// could not be asked: the key is then neither valid nor invalid. A fixed key allows
// everything.
func (k *Keyring) Authenticate(ctx context.Context, token string) (Grant, Refusal, error) {
	hash := pets.HashToken(token)
	if id, ok := k.fixed[hash]; ok {
		return Grant{KeyID: id}, Accepted, nil
	}
	id, ok := pets.KeyIDOf(token)
	if !ok {
		return Grant{}, Unknown, nil
	}
	now := k.now()
	k.mu.RLock()
	e, found := k.known[id]
	k.mu.RUnlock()
	if found && now.Sub(e.asked) < cacheTTL {
		k.hits.Add(1)
	} else {
		k.misses.Add(1)
		var err error
		if e, err = k.lookup(ctx, id, found); err != nil {
			if pets.KindOf(err) == pets.NotFound {
				return Grant{}, Unknown, nil
			}
			return Grant{}, Unknown, err
		}
	}
	if !e.key.HasHash(hash) {
		return Grant{}, Unknown, nil
	}
	switch e.key.State(now) {
	case pets.KeyExpired:
		return Grant{KeyID: id}, Expired, nil
	case pets.KeyRevoked:
		return Grant{KeyID: id}, Revoked, nil
	}
	e.use.at(now)
	return Grant{KeyID: id, ReadOnly: e.key.ReadOnly}, Accepted, nil
}

// Describe implements prometheus.Collector.
func (k *Keyring) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It counts look-ups of keys since the start:
// by the cache, by the store, and given up for lack of room.
func (k *Keyring) Collect(ch chan<- prometheus.Metric) {
	out := metrics.Output(ch)
	const help = "Keys that were found in the cache, and asked of the store."
	out.Counter("key_cache_lookups_total", help, float64(k.hits.Load()), "result", "hit")
	out.Counter("key_cache_lookups_total", help, float64(k.misses.Load()), "result", "miss")
	out.Counter(metrics.Shed, metrics.ShedHelp, float64(k.shed.Load()), "reason", "key_lookup")
}

// lookup asks the store for a key, once for all calls that want it at the time. The
// end of one caller's context does not end it, since others may wait for the result.
func (k *Keyring) lookup(ctx context.Context, id string, known bool) (entry, error) {
	v, err, _ := k.flights.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		if !known {
			select {
			case k.unknownLookups <- struct{}{}:
				defer func() { <-k.unknownLookups }()
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				k.shed.Add(1)
				return entry{}, errTooManyLookups
			}
		}
		e := entry{asked: k.now()}
		var err error
		e.key, err = k.store.Key(ctx, id)
		k.mu.Lock()
		defer k.mu.Unlock()
		if pets.KindOf(err) == pets.NotFound {
			delete(k.known, id)
		}
		if err != nil {
			return entry{}, err
		}
		if e.use = k.known[id].use; e.use == nil {
			e.use = new(use)
		}
		k.known[id] = e
		return e, nil
	})
	if err != nil {
		return entry{}, err
	}
	return v.(entry), nil
}

var errTooManyLookups = &pets.Error{Kind: pets.Unavailable, Message: "too many unknown keys are being looked up"}

// tokenForm is that of a b64token (RFC 6750, section 2.1).
var tokenForm = regexp.MustCompile(`^[0-9A-Za-z._~+/-]+=*$`)
