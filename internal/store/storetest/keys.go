package storetest

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/store"
)

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	farEast = time.FixedZone("far east", 14*3600)
)

func newKey(id string, createdAt time.Time) keys.Key {
	return keys.Key{ID: id, Name: "key " + id, Hash: sha256.Sum256([]byte(id)), CreatedAt: createdAt}
}

func mustCreateKey(t testing.TB, s store.Store, k keys.Key) keys.Key {
	t.Helper()
	must(t, s.CreateKey(t.Context(), k))
	return k
}

func wantKeys(t testing.TB, s store.Store, want ...keys.Key) {
	t.Helper()
	got, err := s.Keys(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Keys: got %+v, error %v, want %+v", got, err, want)
	}
	clear(got) // they are the caller's
}

func testKeys(t *testing.T, f Factory) {
	s := f.open(t)
	wantKeys(t, s)
	limited := newKey("bbbbbbbb", noon)
	limited.Name, limited.ReadOnly, limited.ExpiresAt = `d'où "🐕"`, true, noon.Add(90*time.Second)
	young, old := newKey("aaaaaaaa", noon.Add(time.Second)), newKey("AAAAAAAA", noon.Add(-time.Second))
	later := newKey("0aaaaaaa", noon) // within the same second
	for _, k := range []keys.Key{limited, later, young, old} {
		mustCreateKey(t, s, k)
		if got, err := s.Key(t.Context(), k.ID); err != nil || got != k {
			t.Errorf("Key(%q): got %+v, error %v, want %+v", k.ID, got, err, k)
		}
	}
	dbtest.WantKind(t, "CreateKey with a used ID", s.CreateKey(t.Context(), newKey(young.ID, noon.Add(time.Hour))), fault.Internal)
	for _, id := range []string{"", "00000000", "BBBBBBBB", "aaaaaaa", "aaaaaaaaa", "aaaaaaaa ", "%", "' OR '1'='1", "é"} {
		_, err := s.Key(t.Context(), id)
		_, revokeErr := s.RevokeKey(t.Context(), id, noon)
		if !errors.Is(err, keys.ErrNotFound) || !errors.Is(revokeErr, keys.ErrNotFound) {
			t.Errorf("%q: got errors %v from Key and %v from RevokeKey, want ErrNotFound", id, err, revokeErr)
		}
		must(t, s.RecordKeyUse(t.Context(), map[string]time.Time{id: noon}))
	}
	wantKeys(t, s, old, limited, later, young) // oldest first

	young.RevokedAt = noon.Add(time.Minute) // the first time, in UTC and whole seconds
	for _, at := range []time.Time{noon.Add(time.Minute + 700*time.Millisecond).In(farEast), noon.Add(time.Hour), noon} {
		if got, err := s.RevokeKey(t.Context(), young.ID, at); err != nil || got != young {
			t.Errorf("RevokeKey at %v: got %+v, error %v, want %+v", at, got, err, young)
		}
	}
	wantKeys(t, s, old, limited, later, young)
}

func testRecordKeyUse(t *testing.T, f Factory) {
	s := f.open(t)
	a := mustCreateKey(t, s, newKey("aaaaaaaa", noon))
	b := mustCreateKey(t, s, newKey("0bbbbbbb", noon)) // in the same second, and not updated last
	unused := mustCreateKey(t, s, newKey("cccccccc", noon.Add(2*time.Second)))
	minute := func(n time.Duration) time.Time { return noon.Add(n * time.Minute) }
	must(t, s.RecordKeyUse(t.Context(), nil))
	must(t, s.RecordKeyUse(t.Context(), map[string]time.Time{a.ID: minute(1), b.ID: minute(60).In(farEast), "absent": noon}))
	must(t, s.RecordKeyUse(t.Context(), map[string]time.Time{a.ID: minute(2).Add(700 * time.Millisecond), b.ID: noon}))
	a.UsedAt, b.UsedAt = minute(2), minute(60)
	wantKeys(t, s, a, b, unused)
	concurrently(8, func(i int) { // all in different orders
		at := minute(120 + time.Duration(i))
		must(t, s.RecordKeyUse(t.Context(), map[string]time.Time{a.ID: at, b.ID: at, unused.ID: at}))
	})
	a.UsedAt, b.UsedAt, unused.UsedAt = minute(127), minute(127), minute(127)
	wantKeys(t, s, a, b, unused)
}
