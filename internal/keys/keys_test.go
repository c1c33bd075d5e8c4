package keys_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"regexp"
	"strings"
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

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	errAway = errors.New("away")
)

// fakeStore counts look-ups, and fails or waits on demand.
type fakeStore struct {
	*memory.Store
	lookups atomic.Int64
	away    atomic.Bool
	gate    chan struct{} // look-ups wait until it is closed; may be nil
}

func (s *fakeStore) Key(ctx context.Context, id string) (keys.Key, error) {
	s.lookups.Add(1)
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return keys.Key{}, errAway
		}
	}
	if s.away.Load() {
		return keys.Key{}, errAway
	}
	return s.Store.Key(ctx, id)
}

func (s *fakeStore) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	if s.away.Load() {
		return errAway
	}
	return s.Store.RecordKeyUse(ctx, used)
}

type fixture struct {
	*testing.T
	*fakeStore
	*keys.Keyring
}

// run calls test with a keyring of a store, in a synctest bubble.
func run(t *testing.T, test func(t *testing.T, f fixture)) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{Store: memory.New()}
		k := keys.NewKeyring(s, []string{"another-fixed-key", fixedToken})
		test(t, fixture{t, s, k})
	})
}

// create stores a new key and returns its ID and token.
func (f fixture) create(lifetime time.Duration) (id, token string) {
	f.Helper()
	k, token, err := keys.New("someone", time.Now(), lifetime)
	if err := errors.Join(err, f.CreateKey(f.Context(), k)); err != nil {
		f.Fatal(err)
	}
	return k.ID, token
}

func newKey(t *testing.T) (keys.Key, string) {
	t.Helper()
	k, token, err := keys.New("someone", noon, 0)
	if err != nil {
		t.Fatal(err)
	}
	return k, token
}

// want compares what Authenticate says of a token, which is the ID of its key, a refusal
// such as "expired 12345678" or an error, and how many look-ups there were so far.
func (f fixture) want(token, want string, lookups int64) {
	f.Helper()
	key, err := f.Authenticate(f.Context(), token)
	got := key.ID
	if refusal, ok := errors.AsType[*keys.Refusal](err); ok {
		got += strings.TrimSpace(string(refusal.Reason) + " " + refusal.KeyID)
	} else if err != nil {
		got += err.Error()
	}
	if got != want || f.lookups.Load() != lookups {
		f.Errorf("Authenticate: got %q after %d look-ups, want %q after %d", got, f.lookups.Load(), want, lookups)
	}
}

func TestCache(t *testing.T) {
	run(t, func(t *testing.T, f fixture) {
		id, token := f.create(0)
		for _, lookups := range []int64{1, 1, 2, 2} { // uses do not extend the caching
			f.want(token, id, lookups)
			time.Sleep(cacheTTL / 2)
		}
	})
}

func TestRefusal(t *testing.T) {
	run(t, func(t *testing.T, f fixture) {
		id, token := f.create(time.Second)
		f.want(token, id, 1)
		time.Sleep(time.Second) // until it expires; it is still cached
		f.want(token, "expired "+id, 1)

		id, token = f.create(0)
		f.want(token, id, 2)
		if _, err := f.RevokeKey(t.Context(), id, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(cacheTTL)
		f.want(token, "revoked "+id, 3)

		unknown, token := newKey(t)
		f.want(token, "unknown", 4)
		wrong, wrongToken := newKey(t)
		wrong.Hash[0]++
		if err := errors.Join(f.CreateKey(t.Context(), unknown), f.CreateKey(t.Context(), wrong)); err != nil {
			t.Fatal(err)
		}
		f.want(token, unknown.ID, 5) // at once
		f.want(wrongToken, "unknown", 6)
		for _, junk := range []string{"", token + " ", fixedToken[1:], strings.ToUpper(fixedToken), "fixed-"} {
			f.want(junk, "unknown", 6)
		}
	})
}

func TestStoreAway(t *testing.T) {
	run(t, func(t *testing.T, f fixture) {
		id, token := f.create(0)
		_, unknown := newKey(t)
		f.want(token, id, 1)
		f.away.Store(true)
		f.want(token, id, 1)
		time.Sleep(cacheTTL)
		f.want(token, "away", 2)
		f.want(unknown, "away", 3)
		f.want(fixedToken, fmt.Sprintf("fixed-%x", sha256.Sum256([]byte(fixedToken)))[:len("fixed-01234567")], 3)
		f.away.Store(false)
		f.want(token, id, 4)
	})
}

// TestUnknownLookups checks that few unknown keys are looked up at a time, that a known
// key does not wait for them, and that a store that hangs does not keep any for long.
func TestUnknownLookups(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		run(t, func(t *testing.T, f fixture) {
			id, token := f.create(0)
			f.want(token, id, 1)
			time.Sleep(cacheTTL)
			f.gate = make(chan struct{})
			const callers = 5 * maxUnknownLookups
			results := make(chan error, callers)
			begin := time.Now()
			for range callers {
				_, unknown := newKey(t)
				go func() {
					_, err := f.Authenticate(t.Context(), unknown)
					results <- err
				}()
			}
			synctest.Wait()
			go func() { _, _ = f.Authenticate(t.Context(), token) }()
			synctest.Wait()
			if got := f.lookups.Load(); got != 1+maxUnknownLookups+1 {
				t.Errorf("got %d look-ups, want two of the known key and %d others", got, maxUnknownLookups)
			}
			if !hangs {
				close(f.gate)
			}
			for range callers {
				if _, refused := errors.AsType[*keys.Refusal](<-results); refused == hangs {
					t.Errorf("the store hangs: %v: got refused: %v", hangs, refused)
				}
			}
			if took := time.Since(begin); took+cacheTTL > 5*time.Second { // the documented limit of a revocation
				t.Errorf("got the last result after %v", took)
			}
		})
	}
}

func TestFixedKeys(t *testing.T) {
	for token, valid := range map[string]bool{
		"0123456789abcdef": true, "AZaz09-._~+/AZaz": true, "0123456789abcd==": true,
		"": false, "0123456789abcde": false, "================": false, "0123456789 abcdef": false, "0123456789abcdef\n": false, "0123456789=abcdef": false, "0123456789abcdéf": false,
	} {
		err := keys.CheckFixed([]string{fixedToken, token, "third-key-of-three"})
		if valid && err != nil {
			t.Errorf("%q: got error %v", token, err)
		}
		if !valid && (err == nil || !strings.Contains(err.Error(), "key 2 of 3") || strings.Contains(err.Error(), fixedToken) || token != "" && strings.Contains(err.Error(), token)) {
			t.Errorf("%q: got error %v, want it to say key 2 of 3 and no key", token, err)
		}
	}
}

func TestRecordUses(t *testing.T) {
	run(t, func(t *testing.T, f fixture) {
		id, token := f.create(time.Hour)
		wantUsed := func(want time.Time) {
			t.Helper()
			synctest.Wait()
			if k, err := f.Store.Key(t.Context(), id); err != nil || !k.UsedAt.Equal(want) {
				t.Errorf("got a use at %v, error %v, want %v", k.UsedAt, err, want)
			}
		}
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		go f.RecordUses(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		f.want(token, id, 1)
		first := time.Now()
		wantUsed(time.Time{})
		time.Sleep(30 * time.Second)
		wantUsed(first)

		f.want(token, id, 2)
		second := time.Now()
		f.away.Store(true)
		time.Sleep(30 * time.Second)
		wantUsed(first)
		if !strings.Contains(log.String(), "away") {
			t.Errorf("log: got %q, want the error", &log)
		}
		f.away.Store(false)
		stop()
		wantUsed(second)
	})
}

func TestNew(t *testing.T) {
	page, err := os.ReadFile("../../.github/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile("^" + regexp.MustCompile(`(?m)^\w+_\[.*}$`).FindString(string(page)) + "$")
	seen := map[string]bool{}
	for range 200 {
		k, token := newKey(t)
		if id, ok := keys.ID(token); !ok || id != k.ID || !pattern.MatchString(token) || k.Hash != keys.Hash(token) {
			t.Fatalf("New: got token %q of %+v, ID %q, %v", token, k, id, ok)
		}
		if keys.Pattern.FindString(token) != token || !keys.Pattern.MatchString(token[:20]) {
			t.Errorf("Pattern: got no match of %q", token)
		}
		if seen[k.ID] || seen[token[13:43]] {
			t.Errorf("New: got an ID or a secret twice: %q", token)
		}
		seen[k.ID], seen[token[13:43]] = true, true
	}
	got, token, err := keys.New("Ops: “nightly” import", noon.Add(999*time.Millisecond).In(time.FixedZone("east", 3600)), 90*time.Minute)
	want := keys.Key{ID: got.ID, Name: "Ops: “nightly” import", Hash: keys.Hash(token), CreatedAt: noon, ExpiresAt: noon.Add(90 * time.Minute)}
	if err != nil || got != want {
		t.Errorf("New: got %+v, error %v, want %+v", got, err, want)
	}
}

func TestNewInvalid(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("é", 101), "a\nb", "a\x00b", "a\u202eb", "\xff", "\u200b"} {
		if _, token, err := keys.New(name, noon, 0); err == nil || token != "" {
			t.Errorf("New(%q): got token %q, error %v, want an error", name, token, err)
		}
	}
	if _, token, err := keys.New(strings.Repeat("é", 100), noon, -1); err == nil || token != "" {
		t.Errorf("New with a negative lifetime: got token %q, error %v, want an error", token, err)
	}
}

func TestID(t *testing.T) {
	// A token of an earlier release.
	if id, ok := keys.ID(sealed("psk_abcdefgh_" + strings.Repeat("0", 30))); !ok || id != "abcdefgh" {
		t.Errorf("ID: got %q, %v, want abcdefgh", id, ok)
	}
	_, token := newKey(t)
	junk := []string{
		"", "psk_", token[1:], token[:len(token)-1], token + "0", token[:20] + "~" + token[21:],
		"psk_00000000_" + strings.Repeat("0", 36),
		sealed("psk_abc\x00defg_" + strings.Repeat("0", 30)),
		sealed("psk_abcdefg_" + strings.Repeat("0", 31)),
		sealed("psk_abcdefgh__" + strings.Repeat("0", 29)),
		sealed(strings.ToUpper("psk_") + "abcdefgh_" + strings.Repeat("0", 30)),
	}
	for _, s := range junk {
		if id, ok := keys.ID(s); ok || id != "" {
			t.Errorf("ID(%q): got %q, %v, want none", s, id, ok)
		}
	}
}

// sealed appends the checksum.
func sealed(body string) string {
	sum, digits := crc32.ChecksumIEEE([]byte(body)), ""
	for range 6 {
		digits = fmt.Sprintf("%c%s", base62[sum%62], digits)
		sum /= 62
	}
	return body + digits
}
