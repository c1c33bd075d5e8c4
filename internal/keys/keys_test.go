package keys_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/store/memory"
)

const (
	cacheTTL          = 2 * time.Second
	maxUnknownLookups = 16
	fixedToken        = "a-fixed-key-of-the-operator"
)

var errAway = errors.New("away")

// fixture is a keyring and its store, which counts look-ups, and fails or waits on demand.
type fixture struct {
	*memory.Store
	*keys.Keyring
	*testing.T
	lookups atomic.Int64
	away    atomic.Bool
	gate    chan struct{} // look-ups wait until it is closed; may be nil
}

// run calls test in a synctest bubble.
func run(t *testing.T, test func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{Store: memory.New(), T: t}
		f.Keyring = keys.NewKeyring(f, []string{"another-fixed-key", fixedToken})
		test(f)
	})
}

func (f *fixture) Key(ctx context.Context, id string) (keys.Key, error) {
	f.lookups.Add(1)
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return keys.Key{}, ctx.Err()
		}
	}
	if f.away.Load() {
		return keys.Key{}, errAway
	}
	return f.Store.Key(ctx, id)
}

func (f *fixture) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	if f.away.Load() {
		return errAway
	}
	return f.Store.RecordKeyUse(ctx, used)
}

func newKey(t *testing.T, lifetime time.Duration) (keys.Key, string) {
	t.Helper()
	k, token, err := keys.New("someone", time.Now(), lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return k, token
}

// create stores a new key and returns its ID and token.
func (f *fixture) create(lifetime time.Duration) (id, token string) {
	f.Helper()
	k, token := newKey(f.T, lifetime)
	if err := f.CreateKey(f.Context(), k); err != nil {
		f.Fatal(err)
	}
	return k.ID, token
}

// want compares what Authenticate says of a token, which is the ID of its key, a refusal
// such as "expired 12345678" or an error, and how often it asks the store.
func (f *fixture) want(token, want string, lookups int64) {
	f.Helper()
	before := f.lookups.Load()
	key, err := f.Authenticate(f.Context(), token)
	got := key.ID
	if refusal, ok := errors.AsType[*keys.Refusal](err); ok {
		got += strings.TrimSpace(string(refusal.Reason) + " " + refusal.KeyID)
	} else if err != nil {
		got += err.Error()
	}
	if n := f.lookups.Load() - before; got != want || n != lookups {
		f.Errorf("Authenticate: got %q after %d look-ups, want %q after %d", got, n, want, lookups)
	}
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
		f.want(token, id, 1)
		if _, err := f.RevokeKey(f.Context(), id, time.Now()); err != nil {
			f.Fatal(err)
		}
		time.Sleep(cacheTTL)
		f.want(token, "revoked "+id, 1)

		k, token := newKey(f.T, 0)
		f.want(token, "unknown", 1)
		k.Hash[0]++
		if err := f.CreateKey(f.Context(), k); err != nil {
			f.Fatal(err)
		}
		f.want(token, "unknown", 1) // its secret is wrong
		for _, junk := range []string{"", token + " ", fixedToken[1:], strings.ToUpper(fixedToken), "fixed-"} {
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
		f.want(fixedToken, fmt.Sprintf("fixed-%x", sha256.Sum256([]byte(fixedToken)))[:len("fixed-01234567")], 0)
		f.away.Store(false)
		f.want(token, id, 1)
	})
}

// TestUnknownLookups checks that few unknown keys are looked up at a time, that a known
// key does not wait for them, and that a store that hangs does not keep any for long.
func TestUnknownLookups(t *testing.T) {
	const callers = 5 * maxUnknownLookups
	for hangs, want := range map[bool]int64{false: callers, true: 0} {
		run(t, func(f *fixture) {
			_, known := f.create(0)
			_, unknown := newKey(f.T, 0)
			_, _ = f.Authenticate(f.Context(), known)
			time.Sleep(cacheTTL)
			f.gate = make(chan struct{})
			f.lookups.Store(0)
			var refused atomic.Int64
			var all sync.WaitGroup
			begin := time.Now()
			for range callers {
				all.Go(func() {
					_, err := f.Authenticate(f.Context(), unknown)
					if _, ok := errors.AsType[*keys.Refusal](err); ok {
						refused.Add(1)
					}
				})
			}
			synctest.Wait()
			all.Go(func() { _, _ = f.Authenticate(f.Context(), known) })
			synctest.Wait()
			if got := f.lookups.Load(); got != maxUnknownLookups+1 {
				f.Errorf("got %d look-ups, want the known key's and %d others", got, maxUnknownLookups)
			}
			if !hangs {
				close(f.gate)
			}
			all.Wait()
			if got := refused.Load(); got != want {
				f.Errorf("the store hangs: %v: got %d refused, want %d", hangs, got, want)
			}
			if took := time.Since(begin); took+cacheTTL > 5*time.Second { // the documented limit of a revocation
				f.Errorf("got the last result after %v", took)
			}
		})
	}
}

func TestRecordUses(t *testing.T) {
	run(t, func(f *fixture) {
		id, token := f.create(0)
		var log bytes.Buffer
		ctx, stop := context.WithCancel(f.Context())
		go f.RecordUses(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		wantUsed := func(away bool, want time.Time) {
			f.Helper()
			f.away.Store(away)
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if k, err := f.Store.Key(f.Context(), id); err != nil || !k.UsedAt.Equal(want) {
				f.Errorf("got a use at %v, error %v, want %v", k.UsedAt, err, want)
			}
		}
		first := time.Now()
		f.want(token, id, 1)
		wantUsed(false, first)
		second := time.Now()
		f.want(token, id, 1)
		wantUsed(true, first)
		wantUsed(false, second)
		wantUsed(true, second) // there is nothing to record
		f.away.Store(false)
		third := time.Now()
		f.want(token, id, 1)
		stop()
		wantUsed(false, third)
		if strings.Count(log.String(), "away") != 1 {
			f.Errorf("log: got %q, want one error", &log)
		}
	})
}

func TestCheckFixed(t *testing.T) {
	for token, valid := range map[string]bool{
		"0123456789abcdef": true, "AZaz09-._~+/AZaz": true, "0123456789abcd==": true,
		"": false, "0123456789abcde": false, "================": false, "0123456789 abcdef": false,
		"0123456789abcdef\n": false, "0123456789=abcdef": false, "0123456789abcdéf": false,
	} {
		err := fmt.Sprint(keys.CheckFixed([]string{fixedToken, token, "third-key-of-three"}))
		ok := strings.Contains(err, "key 2 of 3") && !strings.Contains(err, "0123") && !strings.Contains(err, fixedToken)
		if valid && err != "<nil>" || !valid && !ok {
			t.Errorf("%q: got error %s, want valid: %v, and no key in it", token, err, valid)
		}
	}
}

func TestNew(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for range 200 {
		got, token, err := keys.New("someone", noon.Add(999*time.Millisecond).In(time.FixedZone("east", 3600)), 90*time.Minute)
		want := keys.Key{Name: "someone", Hash: keys.Hash(token), CreatedAt: noon, ExpiresAt: noon.Add(90 * time.Minute)}
		if want.ID, _ = keys.ID(token); err != nil || want.ID == "" || got != want {
			t.Fatalf("got %+v, token %q, error %v, want %+v", got, token, err, want)
		}
		if keys.Pattern.FindString(token) != token || !keys.Pattern.MatchString(token[:20]) {
			t.Errorf("Pattern: got no match of %q", token)
		}
		if secret := token[13:43]; seen[got.ID] || seen[secret] {
			t.Errorf("got an ID or a secret twice: %q", token)
		}
		seen[got.ID], seen[token[13:43]] = true, true
	}
	for name, valid := range map[string]bool{
		"Ops: “nightly” import": true, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false,
		"": false, "a\nb": false, "a\x00b": false, "a\u202eb": false, "\xff": false, "\u200b": false,
	} {
		if _, token, err := keys.New(name, noon, 0); (err == nil) != valid || (token == "") == valid {
			t.Errorf("%q: got token %q, error %v, want valid: %v", name, token, err, valid)
		}
	}
	if _, token, err := keys.New("someone", noon, -1); err == nil || token != "" {
		t.Errorf("with a negative lifetime: got token %q, error %v, want an error", token, err)
	}
}

func TestID(t *testing.T) {
	zeros := strings.Repeat("0", 36)
	sealed := func(body string) string { return body + keys.Checksum(body) }
	token := sealed("psk_abcdefgh_" + zeros[:30])
	if id, ok := keys.ID(token); !ok || id != "abcdefgh" || keys.Checksum("123456789") != "3jZRME" { // which stays
		t.Errorf("ID: got %q, %v, want abcdefgh", id, ok)
	}
	for _, junk := range []string{
		"", "psk_", token[1:], token[:len(token)-1], token + "0", token + "\n", token[:20] + "~" + token[21:], "psk_abcdefgh_" + zeros,
		sealed("psk_abc\x00defg_" + zeros[:30]), sealed("psk_abcdefg_" + zeros[:30]),
		sealed("psk_abcdefgh__" + zeros[:29]), sealed(strings.ToUpper("psk_abcdefgh_") + zeros[:30]),
	} {
		if id, ok := keys.ID(junk); ok || id != "" {
			t.Errorf("ID(%q): got %q, %v, want none", junk, id, ok)
		}
	}
}
