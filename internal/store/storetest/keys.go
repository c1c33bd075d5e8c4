package storetest

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/store"
)

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	farEast = time.FixedZone("far east", 14*3600)
)

type uses = map[string]time.Time // by the ID of the key

func newKey(id string, createdAt time.Time) keys.Key {
	return keys.Key{ID: id, Name: "key " + id, Hash: sha256.Sum256([]byte(id)), CreatedAt: createdAt}
}

func wantKeys(t testing.TB, s store.Store, want ...keys.Key) {
	t.Helper()
	got, err := s.Keys(t.Context())
	assert.True(t, err == nil && slices.Equal(got, want), "Keys: got %+v, error %v, want %+v", got, err, want)
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
		require.NoError(t, s.CreateKey(t.Context(), k))
		got, err := s.Key(t.Context(), k.ID)
		assert.True(t, err == nil && got == k, "Key(%q): got %+v, error %v, want %+v", k.ID, got, err, k)
	}
	again := newKey(young.ID, noon.Add(time.Hour))
	dbtest.WantKind(t, "CreateKey with a used ID", s.CreateKey(t.Context(), again), fault.Internal)
	for _, id := range []string{"", "00000000", "BBBBBBBB", "aaaaaaa", "aaaaaaaaa", "aaaaaaaa ", "%", "' OR '1'='1", "é"} {
		_, err := s.Key(t.Context(), id)
		assert.ErrorIs(t, err, keys.ErrNotFound, "Key(%q)", id)
		_, err = s.RevokeKey(t.Context(), id, noon)
		assert.ErrorIs(t, err, keys.ErrNotFound, "RevokeKey(%q)", id)
		assert.NoError(t, s.RecordKeyUse(t.Context(), uses{id: noon}), "RecordKeyUse(%q)", id)
	}
	wantKeys(t, s, old, limited, later, young) // oldest first

	young.RevokedAt = noon.Add(time.Minute) // the first time, in UTC and whole seconds
	for _, at := range []time.Time{noon.Add(time.Minute + 700*time.Millisecond).In(farEast), noon.Add(time.Hour), noon} {
		got, err := s.RevokeKey(t.Context(), young.ID, at)
		assert.True(t, err == nil && got == young, "RevokeKey at %v: got %+v, error %v, want %+v", at, got, err, young)
	}
	wantKeys(t, s, old, limited, later, young)
}

func testRecordKeyUse(t *testing.T, f Factory) {
	s := f.open(t)
	a, b := newKey("aaaaaaaa", noon), newKey("0bbbbbbb", noon) // in the same second, and b is not updated last
	unused := newKey("cccccccc", noon.Add(2*time.Second))
	for _, k := range []keys.Key{a, b, unused} {
		require.NoError(t, s.CreateKey(t.Context(), k))
	}
	minute := func(n time.Duration) time.Time { return noon.Add(n * time.Minute) }
	assert.NoError(t, s.RecordKeyUse(t.Context(), nil))
	assert.NoError(t, s.RecordKeyUse(t.Context(), uses{a.ID: minute(1), b.ID: minute(60).In(farEast), "absent": noon}))
	assert.NoError(t, s.RecordKeyUse(t.Context(), uses{a.ID: minute(2).Add(700 * time.Millisecond), b.ID: noon}))
	a.UsedAt, b.UsedAt = minute(2), minute(60)
	wantKeys(t, s, a, b, unused)
	concurrently(8, func(i int) { // all in different orders
		at := minute(120 + time.Duration(i))
		assert.NoError(t, s.RecordKeyUse(t.Context(), uses{a.ID: at, b.ID: at, unused.ID: at}))
	})
	a.UsedAt, b.UsedAt, unused.UsedAt = minute(127), minute(127), minute(127)
	wantKeys(t, s, a, b, unused)
}
