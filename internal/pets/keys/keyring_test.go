package keys_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
	"example.com/petstore/internal/pets/store/memory"
)

// desk is a keyring over a store that counts look-ups, fails on demand and can
// be made to wait, with a clock that stands until it is moved.
type desk struct {
	*memory.Store
	*keys.Keyring

	mu      sync.Mutex
	time    time.Time
	lookups int
	err     error
	gate    chan struct{} // if not nil, look-ups wait until it is closed

	records   int // of uses, written
	recordErr error
}

func newDesk(t *testing.T, fixed ...string) *desk {
	t.Helper()
	d := &desk{Store: memory.New(), time: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	t.Cleanup(func() { _ = d.Close() })
	var err error
	if d.Keyring, err = keys.New(d, fixed, d.now); err != nil {
		t.Fatalf("making a keyring: got error %v", err)
	}
	return d
}

func (d *desk) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.time
}

func (d *desk) advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.time = d.time.Add(by)
}

// Key implements pets.KeyStore.
func (d *desk) Key(ctx context.Context, id string) (pets.Key, error) {
	d.mu.Lock()
	d.lookups++
	gate, err := d.gate, d.err
	d.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return pets.Key{}, &pets.Error{Kind: pets.Unavailable, Message: "gave up", Err: ctx.Err()}
		}
	}
	if err != nil {
		return pets.Key{}, err
	}
	return d.Store.Key(ctx, id)
}

func (d *desk) mustMakeKey(t *testing.T, lifetime time.Duration) (pets.Key, string) {
	t.Helper()
	k, token, err := pets.NewKey("someone", d.now(), lifetime)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	return k, token
}

func (d *desk) mustStore(t *testing.T, k pets.Key) {
	t.Helper()
	if err := d.CreateKey(t.Context(), k); err != nil {
		t.Fatalf("storing a key: got error %v", err)
	}
}

func (d *desk) mustIssue(t *testing.T, lifetime time.Duration) (pets.Key, string) {
	t.Helper()
	k, token := d.mustMakeKey(t, lifetime)
	d.mustStore(t, k)
	return k, token
}

func (d *desk) wantOpen(t *testing.T, token, id string) {
	t.Helper()
	if got, refusal, err := d.Authenticate(t.Context(), token); err != nil || refusal != keys.Accepted || got.KeyID != id {
		t.Errorf("got %+v, refused %q, error %v, want %q accepted", got, refusal, err, id)
	}
}

func (d *desk) wantRefused(t *testing.T, token string) {
	t.Helper()
	d.wantRefusal(t, token, keys.Unknown, "")
}

func (d *desk) wantRefusal(t *testing.T, token string, want keys.Refusal, id string) {
	t.Helper()
	if got, refusal, err := d.Authenticate(t.Context(), token); err != nil || refusal != want || got != (keys.Grant{KeyID: id}) {
		t.Errorf("got %+v, refused %q, error %v, want it refused as %q with the ID %q", got, refusal, err, want, id)
	}
}

func (d *desk) wantLookups(t *testing.T, want int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lookups != want {
		t.Errorf("got %d look-ups, want %d", d.lookups, want)
	}
}

func TestAStoredKeyOpensAndIsLookedUpOnceWhileItIsCached(t *testing.T) {
	d := newDesk(t)
	k, token := d.mustIssue(t, 0)
	d.wantOpen(t, token, k.ID)
	d.advance(keys.CacheTTL - 1)
	d.wantOpen(t, token, k.ID)
	d.wantLookups(t, 1)
	d.advance(1)
	d.wantOpen(t, token, k.ID)
	d.wantLookups(t, 2)
}

func TestAKnownIDWithAnotherSecretIsRefused(t *testing.T) {
	d := newDesk(t)
	k, token := d.mustMakeKey(t, 0)
	// The store knows the token's ID for another secret, so to the keyring the
	// token is made up around a known ID.
	_, other := d.mustMakeKey(t, 0)
	k.Hash = pets.HashToken(other)
	d.mustStore(t, k)
	d.wantRefused(t, token)
	d.wantRefused(t, token) // from memory, too
	d.wantLookups(t, 1)
}

func TestAnUnknownKeyIsNeverRemembered(t *testing.T) {
	d := newDesk(t)
	k, token := d.mustMakeKey(t, 0)
	d.wantRefused(t, token)
	d.wantRefused(t, token)
	d.wantLookups(t, 2)
	d.mustStore(t, k)
	d.wantOpen(t, token, k.ID)
}

func TestJunkIsRefusedWithoutALookUp(t *testing.T) {
	d := newDesk(t)
	_, token := d.mustIssue(t, 0)
	for _, junk := range []string{"", " ", "x", token[:len(token)-1] + "~", token + " ", "Bearer " + token, strings.Repeat("x", 1<<16), "psk_" + strings.Repeat("0", 45)} {
		d.wantRefused(t, junk)
	}
	d.wantLookups(t, 0)
}

func TestARevokedKeyStopsWithinTheCacheTTL(t *testing.T) {
	d := newDesk(t)
	k, token := d.mustIssue(t, 0)
	d.wantOpen(t, token, k.ID)
	if _, err := d.RevokeKey(t.Context(), k.ID, d.now()); err != nil {
		t.Fatalf("revoking: got error %v", err)
	}
	// Using the key must not lengthen its life: the time of its look-up counts.
	for range 4 {
		d.wantOpen(t, token, k.ID)
		d.advance(keys.CacheTTL / 4)
	}
	d.wantRefusal(t, token, keys.Revoked, k.ID)
	d.wantRefusal(t, token, keys.Revoked, k.ID)
	if keys.CacheTTL > 5*time.Second {
		t.Errorf("cacheTTL: got %v, want at most the promised 5 s", keys.CacheTTL)
	}
}

func TestAKeyIsAsOldAsTheBeginningOfItsLookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k, token := d.mustIssue(t, 0)
		d.gate = make(chan struct{})
		go d.wantOpen(t, token, k.ID)
		synctest.Wait()
		d.advance(keys.CacheTTL) // the store was slow; what it returns may be as old
		close(d.gate)
		synctest.Wait()
		d.wantOpen(t, token, k.ID)
		d.wantLookups(t, 2)
	})
}

func TestAKeyExpiresByTheClockThoughItIsKnown(t *testing.T) {
	d := newDesk(t)
	k, token := d.mustIssue(t, time.Second)
	d.wantOpen(t, token, k.ID)
	d.advance(time.Second - 1)
	d.wantOpen(t, token, k.ID)
	d.advance(1)
	d.wantRefusal(t, token, keys.Expired, k.ID)
	d.wantLookups(t, 1)
}

func TestOnlyTheRightSecretIsToldOfAKeysEnd(t *testing.T) {
	d := newDesk(t)
	k, token := d.mustMakeKey(t, time.Second)
	_, other := d.mustMakeKey(t, 0)
	k.Hash = pets.HashToken(other) // so the token is made up around a known ID
	d.mustStore(t, k)
	d.advance(time.Minute)
	d.wantRefused(t, token)
}

func TestAnUnreachableStoreIsAnErrorAndNoVerdict(t *testing.T) {
	for _, kind := range []pets.Kind{pets.Unavailable, pets.Internal} {
		d := newDesk(t, "a-fixed-key-of-the-operator")
		k, token := d.mustIssue(t, 0)
		_, unknown := d.mustMakeKey(t, 0)
		d.wantOpen(t, token, k.ID)
		d.err = &pets.Error{Kind: kind, Message: "the store is away"}
		d.wantOpen(t, token, k.ID) // it is still fresh
		d.advance(keys.CacheTTL)
		for _, token := range []string{token, unknown} {
			if _, _, err := d.Authenticate(t.Context(), token); err == nil || pets.KindOf(err) != kind {
				t.Errorf("got error %v, want one of kind %v", err, kind)
			}
		}
		if _, refusal, err := d.Authenticate(t.Context(), "a-fixed-key-of-the-operator"); err != nil || refusal != keys.Accepted {
			t.Errorf("a fixed key: got refused %q, error %v, want it opened without the store", refusal, err)
		}
		d.err = nil
		d.wantOpen(t, token, k.ID)
	}
}

func TestManyCallersShareOneLookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k, token := d.mustIssue(t, 0)
		d.gate = make(chan struct{})
		for range 50 {
			go d.wantOpen(t, token, k.ID)
		}
		synctest.Wait()
		d.wantLookups(t, 1)
		close(d.gate)
		synctest.Wait()
		d.wantLookups(t, 1)
	})
}

func TestACallerWhoLeavesDoesNotCostTheOthersTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k, token := d.mustIssue(t, 0)
		d.gate = make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _, _ = d.Authenticate(ctx, token) }()
		synctest.Wait()
		for range 10 {
			go d.wantOpen(t, token, k.ID)
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(d.gate)
		synctest.Wait()
		d.wantLookups(t, 1)
	})
}

func TestALookUpThatHangsEndsWithinThePromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		_, token := d.mustIssue(t, 0)
		d.gate = make(chan struct{})
		begin := time.Now() // of the bubble, whose clock moves when all wait
		_, _, err := d.Authenticate(t.Context(), token)
		if pets.KindOf(err) != pets.Unavailable {
			t.Errorf("got error %v, want unavailable", err)
		}
		if took := time.Since(begin); took+keys.CacheTTL > 5*time.Second {
			t.Errorf("look-up and cacheTTL together: got %v, want at most the promised 5 s", took+keys.CacheTTL)
		}
	})
}

func TestKeysOfManyCallersDoNotMix(t *testing.T) {
	d := newDesk(t)
	var callers sync.WaitGroup
	for range 8 {
		k, token := d.mustIssue(t, 0)
		_, unknown := d.mustMakeKey(t, 0)
		for range 4 {
			callers.Go(func() {
				for range 100 {
					d.wantOpen(t, token, k.ID)
					d.wantRefused(t, unknown)
					d.advance(keys.CacheTTL / 50)
				}
			})
		}
	}
	callers.Wait()
}

// Ever new keys wait in line; a known key does not wait.
func TestLookUpsOfUnknownKeysAreFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k, token := d.mustIssue(t, 0)
		d.wantOpen(t, token, k.ID)
		d.gate = make(chan struct{})
		refused := make(chan error, 100)
		for range 100 {
			_, unknown := d.mustMakeKey(t, 0)
			go func() {
				_, _, err := d.Authenticate(t.Context(), unknown)
				refused <- err
			}()
		}
		synctest.Wait()
		d.wantLookups(t, 1+keys.MaxUnknownLookups)
		d.advance(keys.CacheTTL)
		go d.wantOpen(t, token, k.ID)
		synctest.Wait()
		d.wantLookups(t, 2+keys.MaxUnknownLookups) // among them the known key's
		close(d.gate)
		for range 100 {
			if err := <-refused; err != nil {
				t.Errorf("an unknown key: got error %v, want its turn", err)
			}
		}
		d.wantLookups(t, 102)
	})
}

func TestAnUnknownKeyWaitsForItsTurnForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.gate = make(chan struct{}) // the store hangs
		begin := time.Now()          // of the bubble
		var callers sync.WaitGroup
		for range 2 * keys.MaxUnknownLookups {
			_, unknown := d.mustMakeKey(t, 0)
			callers.Go(func() {
				if _, _, err := d.Authenticate(t.Context(), unknown); pets.KindOf(err) != pets.Unavailable {
					t.Errorf("got error %v, want unavailable", err)
				}
			})
		}
		callers.Wait()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("the last of them: got an end after %v, want it within 2 s", took)
		}
	})
}
