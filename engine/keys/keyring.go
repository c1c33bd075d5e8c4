package keys

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"example.com/petstore/engine/fault"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

const (
	// A revoked key works for at most cacheTTL plus lookupTimeout, 4 s; the documented limit is 5 s.
	cacheTTL      = 2 * time.Second
	lookupTimeout = 2 * time.Second
	// maxUnknownLookups limits concurrent look-ups of keys that are not in the cache, so that
	// made-up keys cannot overload the store. All clients share them.
	maxUnknownLookups = 16
)

// Keyring authenticates tokens. It caches known keys for 2 s, but no unknown ones.
type Keyring struct {
	store   Store
	fixed   []Key               // only their IDs and hashes
	unknown *semaphore.Weighted // limits look-ups of unknown keys
	lookups singleflight.Group  // of known keys

	mu    sync.Mutex
	known map[string]knownKey
	used  map[string]time.Time // not yet recorded in the store
}

type knownKey struct {
	Key
	asked time.Time // when its look-up began
}

// errUnknown is the same whether or not a key has the ID in the token.
var errUnknown = &fault.Error{Kind: fault.Unauthorized, Reason: "unknown"}

// NewKeyring returns a keyring of the keys in store and of fixed tokens, which must be hard to guess.
// Fixed keys need no store, may read and write, and never expire; their IDs have a part of their hashes.
func NewKeyring(store Store, fixed []string) *Keyring {
	k := &Keyring{
		store: store, unknown: semaphore.NewWeighted(maxUnknownLookups),
		known: map[string]knownKey{}, used: map[string]time.Time{},
	}
	for _, token := range fixed {
		hash := sha256.Sum256([]byte(token))
		k.fixed = append(k.fixed, Key{ID: fmt.Sprintf("fixed-%x", hash[:4]), Hash: hash})
	}
	return k
}

// Authenticate returns the key of a token. The error is Unauthorized if the key is unknown,
// has expired or was revoked; in the last two cases it has a message, and the key is returned
// too. Any other error means that the store failed and the token could not be checked.
func (k *Keyring) Authenticate(ctx context.Context, token string) (Key, error) {
	hash := sha256.Sum256([]byte(token))
	for _, f := range k.fixed {
		if subtle.ConstantTimeCompare(f.Hash[:], hash[:]) == 1 {
			return f, nil
		}
	}
	id, ok := tokenID(token)
	if !ok {
		return Key{}, errUnknown
	}
	key, err := k.key(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && subtle.ConstantTimeCompare(key.Hash[:], hash[:]) == 0:
		return Key{}, errUnknown
	case err != nil:
		return Key{}, err
	}
	now := time.Now()
	if state := key.State(now); state != Active {
		return key, &fault.Error{Kind: fault.Unauthorized, Message: "the API key is " + string(state), Reason: string(state)}
	}
	k.mu.Lock()
	k.used[id] = now
	k.mu.Unlock()
	return key, nil
}

// key returns the key with the given ID from the cache or the store.
func (k *Keyring) key(ctx context.Context, id string) (Key, error) {
	k.mu.Lock()
	cached, known := k.known[id]
	k.mu.Unlock()
	if known && time.Since(cached.asked) < cacheTTL {
		return cached.Key, nil
	}
	if known { // one look-up for all requests in flight, which does not end with the first of them
		key, err, _ := k.lookups.Do(id, func() (any, error) { return k.lookUp(context.WithoutCancel(ctx), id) })
		return key.(Key), err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if k.unknown.Acquire(ctx, 1) != nil {
		return Key{}, errors.New("too many unknown keys are being looked up")
	}
	defer k.unknown.Release(1)
	return k.lookUp(ctx, id)
}

// lookUp returns a key from the store, and caches it.
func (k *Keyring) lookUp(ctx context.Context, id string) (Key, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	asked := time.Now()
	key, err := k.store.Key(ctx, id)
	if err == nil {
		k.mu.Lock()
		k.known[id] = knownKey{key, asked}
		k.mu.Unlock()
	}
	return key, err
}

// RecordUses records in the store when keys were last used, every 30 s and once more when
// ctx ends. It logs a failure and retries 30 s later. It returns the error of the last attempt.
func (k *Keyring) RecordUses(ctx context.Context, log *slog.Logger) error {
	tick := time.Tick(30 * time.Second)
	for {
		select {
		case <-tick:
			if err := k.recordUses(ctx); err != nil {
				log.Warn(err.Error())
			}
		case <-ctx.Done():
			return k.recordUses(ctx)
		}
	}
}

// recordUses records uses even if ctx has ended.
func (k *Keyring) recordUses(ctx context.Context) error {
	k.mu.Lock()
	used := k.used
	k.used = map[string]time.Time{}
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	err := k.store.RecordKeyUse(ctx, used)
	if err == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.Copy(used, k.used)
	k.used = used
	return fmt.Errorf("the last uses of API keys were not stored: %w", err)
}
