package keys

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/fault"
)

const fixedToken = "a-fixed-key-of-the-operator"

func TestNew(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	parts := map[string]bool{} // IDs and secrets
	for i := range 400 {
		got, token, err := New("key", "someone", i%2 == 0, noon.Add(999*time.Millisecond).In(time.FixedZone("east", 3600)), 90*time.Minute+time.Millisecond)
		want := Key{Name: "someone", Hash: sha256.Sum256([]byte(token)), ReadOnly: i%2 == 0, CreatedAt: noon, ExpiresAt: noon.Add(90 * time.Minute)}
		want.ID, _ = tokenID(token)
		require.NoError(t, err)
		require.Equal(t, want, got, token)
		assert.Equal(t, token, Pattern("key").FindString(token))
		assert.Regexp(t, Pattern("key"), token[:20])
		random := got.ID + token[len(token)-36:len(token)-6]
		assert.NotContains(t, random[9:], random[8:16], "the secret, which repeats itself")
		assert.NotContains(t, random[8:], random[:8], "the secret, which repeats the ID")
		parts[random[:8]], parts[random[8:]] = true, true
	}
	assert.Equal(t, 800, len(parts), "different IDs and secrets")
	check := func(prefix, name string, lifetime time.Duration, valid bool) {
		_, token, err := New(prefix, name, false, noon, lifetime)
		assert.Equal(t, valid, err == nil, "%q, %q, %v: got error %v", prefix, name, lifetime, err)
		assert.Equal(t, valid, token != "", "%q, %q, %v: got token %q", prefix, name, lifetime, token)
	}
	for name, valid := range map[string]bool{
		"Ops: “nightly” import": true, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false,
		"": false, "a\nb": false, "a\x00b": false, "a\u202eb": false, "\xff": false, "\u200b": false,
	} {
		check("key", name, 0, valid)
	}
	for _, prefix := range []string{"", "1k", "k_k", "K", "k*"} {
		check(prefix, "someone", 0, false)
	}
	check("key", "someone", -1, false)
}

func TestID(t *testing.T) {
	zeros := strings.Repeat("0", 36)
	sealed := func(body string) string { return body + checksum(body) }
	token := sealed("key_abcdefgh_" + zeros[:30])
	id, ok := tokenID(token)
	assert.True(t, ok && id == "abcdefgh", "tokenID(%q): got %q, %v, want abcdefgh", token, id, ok)
	assert.Equal(t, "3jZRME", checksum("123456789"), "which never changes")
	for _, junk := range []string{
		"", "key_", token[1:], "0" + token, token[:len(token)-1], token + "0", token + "\n",
		token[:20] + "~" + token[21:], "key_abcdefgh_" + zeros,
		sealed("key_abc\x00defg_" + zeros[:30]), sealed("key_abcdefg_" + zeros[:30]),
		sealed("key_abcdefgh__" + zeros[:29]), sealed(strings.ToUpper("key_abcdefgh_") + zeros[:30]),
	} {
		id, ok := tokenID(junk)
		assert.True(t, !ok && id == "", "tokenID(%q): got %q, %v, want none", junk, id, ok)
	}
}

var errAway = errors.New("away")

// fixture is a keyring and its store, which counts look-ups, and fails or is slow on demand.
type fixture struct {
	Store // nil: the keyring calls no other methods
	*Keyring
	*testing.T
	stored  sync.Map // of Keys by their IDs
	lookups atomic.Int64
	away    atomic.Bool
	delay   time.Duration // of look-ups
	record  func() error  // called while uses are recorded
}

// run calls test in a synctest bubble. A test that hangs on a lock fails.
func run(t *testing.T, test func(f *fixture)) {
	defer time.AfterFunc(10*time.Second, func() { panic(t.Name() + " hangs") }).Stop()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, record: func() error { return nil }}
		f.Keyring = NewKeyring(f, []string{"another-fixed-key", fixedToken})
		test(f)
	})
}

func (f *fixture) Key(ctx context.Context, id string) (Key, error) {
	f.lookups.Add(1)
	k, ok := f.stored.Load(id)
	select {
	case <-time.After(f.delay):
	case <-ctx.Done():
		return Key{}, ctx.Err()
	}
	switch {
	case f.away.Load():
		return Key{}, errAway
	case !ok:
		return Key{}, ErrNotFound
	}
	return k.(Key), nil
}

func (f *fixture) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	if err := errors.Join(ctx.Err(), f.record()); err != nil {
		return err
	}
	for id, at := range used {
		f.change(id, func(k *Key) { k.UsedAt = at })
	}
	return nil
}

func (f *fixture) change(id string, change func(*Key)) {
	stored, _ := f.stored.Load(id)
	k := stored.(Key)
	change(&k)
	f.stored.Store(id, k)
}

func (f *fixture) create(lifetime time.Duration) (id, token string) {
	k, token, _ := New("key", "someone", false, time.Now(), lifetime) // it is valid
	f.stored.Store(k.ID, k)
	return k.ID, token
}

// want checks the result of Authenticate, such as an ID or "expired 12345678", and how often the store is asked.
func (f *fixture) want(token, want string, lookups int64) {
	before := f.lookups.Load()
	key, err := f.Authenticate(f.Context(), token)
	got := key.ID
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Unauthorized {
		got = strings.TrimSpace(e.Reason + " " + key.ID)
	} else if err != nil {
		got += err.Error()
	}
	assert.Equal(f, want, got)
	assert.Equal(f, lookups, f.lookups.Load()-before, "look-ups")
}

func TestAuthenticate(t *testing.T) {
	run(t, func(f *fixture) {
		id, token := f.create(5 * time.Second)
		for _, lookups := range []int64{1, 0, 1, 0} { // uses do not extend the caching
			f.want(token, id, lookups)
			time.Sleep(cacheTTL / 2)
		}
		f.want(token, id, 1)
		time.Sleep(time.Second) // until it expires; it is still cached
		f.want(token, "expired "+id, 0)

		id, token = f.create(0)
		f.delay = cacheTTL / 2
		f.want(token, id, 1)
		f.change(id, func(k *Key) { k.RevokedAt = time.Now() })
		time.Sleep(cacheTTL / 2) // it was cached from the start of its look-up
		f.want(token, "revoked "+id, 1)
		f.delay = 0

		id, token = f.create(0)
		f.change(id, func(k *Key) { k.Hash[0]++ }) // its secret is another
		f.want(token, "unknown", 1)
		f.stored.Delete(id)
		time.Sleep(cacheTTL)
		f.want(token, "unknown", 1)
		f.want(token, "unknown", 1)
		for _, junk := range []string{"", token + " ", fixedToken[1:], strings.ToUpper(fixedToken), "fixed-37421a98"} {
			f.want(junk, "unknown", 0)
		}

		id, token = f.create(0)
		f.want(token, id, 1)
		f.away.Store(true)
		f.want(token, id, 0)
		time.Sleep(cacheTTL)
		f.want(token, "away", 1)
		_, another := f.create(0)
		f.want(another, "away", 1)
		f.want(fixedToken, "fixed-37421a98", 0) // wherever it stands
		f.away.Store(false)
		f.want(token, id, 1)
	})
}

// TestLookups checks that few unknown keys are looked up at a time, while requests with a known key share a look-up,
// which does not end with the request that began it; and that a store that hangs does not keep any for long.
func TestLookups(t *testing.T) {
	const callers, most = 80, 16 // small, whatever maxUnknownLookups is
	for _, delay := range []time.Duration{100 * time.Millisecond, time.Hour} {
		run(t, func(f *fixture) {
			id, known := f.create(0)
			f.want(known, id, 1)
			time.Sleep(cacheTTL)
			f.delay = delay
			begin := time.Now()
			first, leave := context.WithCancel(f.Context())
			succeeded := make(chan bool)
			authenticate := func(ctx context.Context) { _, err := f.Authenticate(ctx, known); succeeded <- err == nil }
			unknown := "key_abcdefgh_" + strings.Repeat("0", 30)
			for range callers {
				go func() {
					_, err := f.Authenticate(f.Context(), unknown+checksum(unknown))
					succeeded <- fault.KindOf(err) == fault.Unauthorized
				}()
			}
			synctest.Wait()
			go authenticate(first)
			synctest.Wait()
			for range callers {
				go authenticate(f.Context())
			}
			synctest.Wait()
			leave()
			assert.EqualValues(f, 1+most+1, f.lookups.Load(), "look-ups: two of the known key and %d others", most)
			const most = 5*time.Second - cacheTTL // the documented limit of a revocation
			time.Sleep(most)                      // unlike Wait, it hides no data race
			f.record = func() error {
				go f.Authenticate(f.Context(), known) // meanwhile
				return errAway
			}
			assert.ErrorIs(f, f.recordUses(f.Context()), errAway)
			for range 2*callers + 1 {
				assert.Equal(f, delay < time.Hour, <-succeeded, "the result when look-ups take %v", delay)
			}
			assert.LessOrEqual(f, time.Since(begin), most, "until the last result")
			time.Sleep(time.Hour) // until the use meanwhile has ended
		})
	}
}

func TestRecordUses(t *testing.T) {
	run(t, func(f *fixture) {
		id, token := f.create(0)
		var log bytes.Buffer
		ctx, stop := context.WithCancel(f.Context())
		go f.RecordUses(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		use := func() time.Time { f.want(token, id, 1); return time.Now() }
		wantUsed := func(want time.Time) {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			k, _ := f.stored.Load(id)
			assert.WithinDuration(f, want, k.(Key).UsedAt, 0, "the last use")
		}
		succeed, stored := f.record, time.Time{}
		for _, err := range []error{nil, errAway} { // a use while others are recorded is not lost
			var during time.Time
			f.record = func() error {
				f.record, during = succeed, use()
				return err
			}
			if used := use(); err == nil {
				stored = used
			}
			wantUsed(stored)
			stored = during
			wantUsed(stored)
		}
		f.record = func() error { return errors.New("there is nothing to record") }
		wantUsed(stored)
		f.record = func() error { f.record = succeed; return errAway }
		last := use()
		wantUsed(stored)
		wantUsed(last)
		last = use()
		stop()
		wantUsed(last)
		assert.Regexp(f, "^.*away.*\n.*away.*\n$", log.String(), "two errors in the log")
	})
}
