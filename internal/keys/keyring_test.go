package keys_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/store/memory"
)

const (
	cacheTTL          = 2 * time.Second
	maxUnknownLookups = 16
	fixedToken        = "a-fixed-key-of-the-operator"
)

var errAway = errors.New("away")

// fakeStore counts look-ups and records, and fails or waits on demand.
type fakeStore struct {
	*memory.Store
	gate chan struct{} // look-ups wait until it is closed

	mu               sync.Mutex
	err              error // of all calls
	lookups, records int
}

func (s *fakeStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// count adds one to n and returns the error to fail with.
func (s *fakeStore) count(n *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
	return s.err
}

func (s *fakeStore) Key(ctx context.Context, id string) (keys.Key, error) {
	err := s.count(&s.lookups)
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			err = errAway
		}
	}
	if err != nil {
		return keys.Key{}, err
	}
	return s.Store.Key(ctx, id)
}

func (s *fakeStore) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	if err := s.count(&s.records); err != nil {
		return err
	}
	return s.Store.RecordKeyUse(ctx, used)
}

type fixture struct {
	*testing.T
	*fakeStore
	*keys.Keyring
}

// run calls f with a keyring of a store, in a synctest bubble.
func run(t *testing.T, f func(t *testing.T, f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{Store: memory.New()}
		k, err := keys.NewKeyring(s, []string{"another-fixed-key", fixedToken})
		if err != nil {
			t.Fatalf("NewKeyring: got error %v", err)
		}
		f(t, &fixture{t, s, k})
	})
}

// create stores a new key, modified by change, and returns its ID and token.
func (f *fixture) create(lifetime time.Duration, change func(*keys.Key)) (id, token string) {
	f.Helper()
	k, token, err := keys.New("someone", time.Now(), lifetime)
	if err != nil {
		f.Fatalf("New: got error %v", err)
	}
	if change != nil {
		change(&k)
	}
	if err := f.CreateKey(f.Context(), k); err != nil {
		f.Fatalf("CreateKey: got error %v", err)
	}
	return k.ID, token
}

func (f *fixture) want(token, id string) {
	f.Helper()
	if got, err := f.Authenticate(f.Context(), token); err != nil || got.ID != id {
		f.Errorf("Authenticate: got %+v, error %v, want the key %s", got, err, id)
	}
}

func (f *fixture) wantRefusal(token string, want keys.Refusal) {
	f.Helper()
	k, err := f.Authenticate(f.Context(), token)
	if got, ok := errors.AsType[*keys.Refusal](err); !ok || *got != want || k != (keys.Key{}) {
		f.Errorf("Authenticate: got %+v, error %v, want %+v", k, err, want)
	}
}

func (f *fixture) wantLookups(want int) {
	f.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lookups != want {
		f.Errorf("got %d look-ups, want %d", f.lookups, want)
	}
}

func TestAuthenticateCached(t *testing.T) {
	run(t, func(t *testing.T, f *fixture) {
		id, token := f.create(0, nil)
		for _, want := range []int{1, 1, 2, 2} { // uses do not extend the caching
			f.want(token, id)
			f.wantLookups(want)
			time.Sleep(cacheTTL / 2)
		}
		reg := prometheus.NewRegistry()
		reg.MustRegister(f.Keyring)
		families, err := reg.Gather()
		if err != nil || len(families) != 1 || families[0].Metric[0].GetCounter().GetValue() != 2 {
			t.Errorf("metrics: got %v, error %v, want 2 hits", families, err)
		}
		_, token = f.create(0, func(k *keys.Key) { k.ReadOnly = true })
		if k, err := f.Authenticate(t.Context(), token); err != nil || !k.ReadOnly {
			t.Errorf("Authenticate: got %+v, error %v, want a key that may only read", k, err)
		}
	})
}

func TestAuthenticateRefused(t *testing.T) {
	run(t, func(t *testing.T, f *fixture) {
		id, token := f.create(time.Second, nil)
		_, wrongSecret := f.create(time.Second, func(k *keys.Key) { k.Hash[0]++ })
		f.want(token, id)
		f.wantRefusal(wrongSecret, keys.Refusal{Reason: keys.Unknown})
		time.Sleep(time.Second) // still cached
		f.wantRefusal(token, keys.Refusal{KeyID: id, Reason: keys.Expired})
		f.wantRefusal(wrongSecret, keys.Refusal{Reason: keys.Unknown})
		f.wantLookups(2)

		id, token = f.create(0, nil)
		f.want(token, id)
		if _, err := f.RevokeKey(t.Context(), id, time.Now()); err != nil {
			t.Fatalf("RevokeKey: got error %v", err)
		}
		time.Sleep(cacheTTL)
		f.wantRefusal(token, keys.Refusal{KeyID: id, Reason: keys.Revoked})

		unknown, unknownToken, err := keys.New("x", time.Now(), 0)
		if err != nil {
			t.Fatalf("New: got error %v", err)
		}
		f.wantRefusal(unknownToken, keys.Refusal{Reason: keys.Unknown})
		f.wantRefusal(unknownToken, keys.Refusal{Reason: keys.Unknown})
		f.wantLookups(6)
		if err := f.CreateKey(t.Context(), unknown); err != nil {
			t.Fatalf("CreateKey: got error %v", err)
		}
		f.want(unknownToken, unknown.ID) // at once
		for _, junk := range []string{"", "x", token + " ", token[:len(token)-1] + "~", fixedToken + "x", fixedToken[1:], strings.ToUpper(fixedToken), "fixed-"} {
			f.wantRefusal(junk, keys.Refusal{Reason: keys.Unknown})
		}
		f.wantLookups(7)
	})
}

func TestAuthenticateStoreFails(t *testing.T) {
	run(t, func(t *testing.T, f *fixture) {
		id, token := f.create(0, nil)
		_, unknown := newKey(t, 0)
		f.want(token, id)
		f.fail(errAway)
		f.want(token, id)
		time.Sleep(cacheTTL)
		for _, token := range []string{token, unknown} {
			if g, err := f.Authenticate(t.Context(), token); !errors.Is(err, errAway) || g != (keys.Key{}) {
				t.Errorf("Authenticate: got %+v, error %v, want %v", g, err, errAway)
			}
		}
		if g, err := f.Authenticate(t.Context(), fixedToken); err != nil || g.ReadOnly {
			t.Errorf("Authenticate a fixed key: got %+v, error %v, want it accepted", g, err)
		}
		f.fail(nil)
		f.want(token, id)
	})
}

// Concurrent calls share a look-up, even if the first caller gives up.
func TestAuthenticateConcurrent(t *testing.T) {
	run(t, func(t *testing.T, f *fixture) {
		id, token := f.create(0, nil)
		f.gate = make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = f.Authenticate(ctx, token) }()
		synctest.Wait()
		for range 10 {
			go f.want(token, id)
		}
		leave()
		time.Sleep(cacheTTL / 2)
		close(f.gate)
		synctest.Wait()
		f.wantLookups(1)
		time.Sleep(cacheTTL / 2) // the entry expires cacheTTL after the look-up began
		f.want(token, id)
		f.wantLookups(2)
	})
}

func TestUnknownLookupsLimited(t *testing.T) {
	run(t, func(t *testing.T, f *fixture) {
		id, token := f.create(0, nil)
		f.want(token, id)
		time.Sleep(cacheTTL)
		f.gate = make(chan struct{})
		const callers = 5 * maxUnknownLookups
		results := make(chan error, callers)
		send := func() {
			begin := time.Now()
			for range callers {
				_, unknown := newKey(t, 0)
				go func() {
					_, err := f.Authenticate(t.Context(), unknown)
					if time.Since(begin)+cacheTTL > 5*time.Second {
						t.Errorf("Authenticate: took %v, want a revoked key to end within 5 s", time.Since(begin))
					}
					results <- err
				}()
			}
		}
		send()
		f.wantLookups(1 + maxUnknownLookups)
		go f.want(token, id) // a known key is not kept waiting
		f.wantLookups(2 + maxUnknownLookups)
		close(f.gate)
		for range callers {
			err := <-results
			if _, ok := errors.AsType[*keys.Refusal](err); !ok {
				t.Errorf("Authenticate: got error %v, want its turn", err)
			}
		}
		f.wantLookups(2 + callers)

		f.gate = make(chan struct{}) // the store hangs
		send()
		for range callers {
			err := <-results
			if _, ok := errors.AsType[*keys.Refusal](err); err == nil || ok {
				t.Errorf("Authenticate: got error %v, want that of the store", err)
			}
		}
	})
}

func TestFixedKeys(t *testing.T) {
	for _, token := range []string{"0123456789abcdef", strings.Repeat("x", 500), "AZaz09-._~+/AZaz", "0123456789abcd=="} {
		k, err := keys.NewKeyring(nil, []string{token, token})
		if err != nil {
			t.Errorf("NewKeyring(%q): got error %v", token, err)
			continue
		}
		g, err := k.Authenticate(t.Context(), token)
		if err != nil || !regexp.MustCompile(`^fixed-[0-9a-f]{8}$`).MatchString(g.ID) {
			t.Errorf("Authenticate(%q): got %+v, error %v", token, g, err)
		}
	}
	for _, token := range []string{"", "secret", "0123456789abcde", "================", "0123456789 abcdef", "0123456789abcdef\n", "0123456789=abcdef", "0123456789abcdéf", "0123456789,abcdef"} {
		_, err := keys.NewKeyring(nil, []string{fixedToken, token, "third"})
		if err == nil || !strings.Contains(err.Error(), "key 2 of 3") || strings.Contains(err.Error(), fixedToken) || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("NewKeyring(%q): got error %v, want it to say key 2 of 3 and no key", token, err)
		}
	}
}

func TestRecordUses(t *testing.T) {
	run(t, func(t *testing.T, f *fixture) {
		id, token := f.create(time.Hour, nil)
		unused, unusedToken := f.create(time.Second, nil)
		wantUsed := func(records int, want time.Time) {
			t.Helper()
			synctest.Wait()
			f.mu.Lock()
			defer f.mu.Unlock()
			k, err := f.Store.Key(t.Context(), id)
			if u, _ := f.Store.Key(t.Context(), unused); err != nil || !k.UsedAt.Equal(want) || !u.UsedAt.IsZero() || f.records != records {
				t.Errorf("got uses at %v and %v, error %v, in %d calls, want %v in %d", k.UsedAt, u.UsedAt, err, f.records, want, records)
			}
		}
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		go f.RecordUses(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(time.Second)
		for range 10 {
			f.want(token, id)
		}
		f.wantRefusal(unusedToken, keys.Refusal{KeyID: unused, Reason: keys.Expired})
		first := time.Now()
		wantUsed(0, time.Time{})
		time.Sleep(58 * time.Second)
		wantUsed(1, first)
		time.Sleep(10 * time.Minute)
		wantUsed(1, first) // nothing new

		f.want(token, id)
		second := time.Now()
		f.fail(errAway)
		time.Sleep(29 * time.Second)
		wantUsed(2, first)
		if !strings.Contains(log.String(), "away") {
			t.Errorf("log: got %q, want the error", &log)
		}
		f.fail(nil)
		stop()
		wantUsed(3, second)
	})
}
