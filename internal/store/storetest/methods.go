package storetest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

func testCreatePet(t *testing.T, f Factory) {
	s := f.open(t)
	var all []pets.Pet
	same := example.Pet() // is stored twice
	for i, p := range append(example.Pets(5), same, same) {
		all = append(all, Create(t, s, p, noKey))
		wantPet(t, s, all[i])
	}
	for _, id := range []int64{0, -1, all[len(all)-1].ID + 1, math.MinInt64, pets.MaxID, pets.MaxID + 1, math.MaxInt64} {
		_, err := s.Pet(t.Context(), id)
		dbtest.WantKind(t, fmt.Sprintf("Pet(%d)", id), err, fault.NotFound)
	}
	wantAll(t, s, all)

	f.Last(t, s, pets.MaxID-2)
	for range 2 { // at most; gaps are allowed
		if pet, err := s.CreatePet(t.Context(), example.Pet(), noKey); err == nil {
			all = append(all, pet)
		}
	}
	wantRefused(t, s, example.Pet(), noKey, fault.Internal)
	wantAll(t, s, all)
}

// wantRefused checks that a create fails and returns no pet.
func wantRefused(t testing.TB, s store.Store, p pets.NewPet, key pets.IdempotencyKey, want fault.Kind) {
	pet, err := s.CreatePet(t.Context(), p, key)
	dbtest.WantKind(t, fmt.Sprintf("CreatePet(%s, %v)", text(p), key), err, want)
	assert.Zero(t, pet, "CreatePet(%s, %v): the pet with the error", text(p), key)
}

// testPets lists an empty store, and pets with gaps between their identifiers.
func testPets(t *testing.T, f Factory) {
	s := f.open(t)
	for _, q := range listQueries() {
		q.Limit = 1
		wantList(t, s, nil, q)
	}
	var all []pets.Pet
	for _, p := range example.Pets(11) {
		f.Remove(t, s, Create(t, s, p, noKey).ID)
		all = append(all, Create(t, s, p, noKey))
	}
	afters := []int64{math.MinInt64, -1, 0, pets.MaxID, math.MaxInt64}
	for _, p := range all {
		afters = append(afters, p.ID-1, p.ID)
	}
	for _, q := range listQueries() {
		for _, q.Limit = range []int{1, 4, len(all) - 1, len(all), 5000} {
			for _, q.After = range afters {
				wantList(t, s, all, q)
			}
		}
	}
}

// wantList checks the page that q selects from a store that holds all.
func wantList(t testing.TB, s store.Store, all []pets.Pet, q pets.ListQuery) {
	want := slices.DeleteFunc(slices.Clone(all), func(p pets.Pet) bool {
		return p.ID <= q.After || !example.Selects(q, p)
	})
	more := len(want) > q.Limit
	want = want[:min(q.Limit, len(want))]
	got, err := s.Pets(t.Context(), q)
	ok := err == nil && slices.EqualFunc(got.Pets, want, equal) && got.More == more
	require.True(t, ok, "Pets(%+v): got %s, error %v, want %s, more %v", q, text(got), err, text(want), more)
}

var mine = pets.IdempotencyKey{KeyID: "mine", Key: "k1"}

// testIdempotency repeats a request after its pet was changed, and after it was removed.
func testIdempotency(t *testing.T, f Factory) {
	s := f.open(t)
	var all []pets.Pet
	long := "mine/" + strings.Repeat("k", 255)
	for _, pair := range []string{"mine/k1", "yours/k1", "minek/1", "/k1", "mine/K1", "mine/ k1", long} {
		keyID, key, _ := strings.Cut(pair, "/")
		all = append(all, Create(t, s, example.Pet(), pets.IdempotencyKey{KeyID: keyID, Key: key}))
	}
	wantAll(t, s, all)
	first := all[0]
	all[0].NewPet = example.Pets(2)[1]
	f.Change(t, s, all[0])
	for range 2 {
		wantPet(t, s, all[0])
		for _, q := range listQueries() {
			q.Limit = len(all)
			wantList(t, s, all, q)
		}
		got, err := s.CreatePet(t.Context(), first.NewPet, mine)
		assert.NoError(t, err, "the same again")
		assert.Equal(t, text(all[0]), text(got), "the same again")
		wantRefused(t, s, all[0].NewPet, mine, fault.IdempotencyKeyReused) // package pets tests each property
		if !f.Kind.Volatile {
			require.NoError(t, s.Close())
			s = Open(t, f.Kind, s.Address)
		}
	}
	f.Remove(t, s, first.ID)
	wantRefused(t, s, first.NewPet, mine, fault.IdempotencyKeyReused)
	assert.Greater(t, Create(t, s, example.Pet(), noKey).ID, first.ID, "the ID of another pet")
}

// testIdempotencyConcurrent creates different or equal pets with one key at once: one is stored. Test
// every uniqueness rule this way, such as a name that is unique, or the last one in stock.
func testIdempotencyConcurrent(t *testing.T, f Factory) {
	s := f.open(t)
	const callers = 16
	var all []pets.Pet
	for n := range 40 {
		sent, want := slices.Repeat([]pets.NewPet{example.Numbered(n)}, callers), callers
		if n%2 == 0 {
			sent, want = example.Pets(callers), 1
		}
		key := pets.IdempotencyKey{KeyID: "mine", Key: fmt.Sprint(n)}
		var made [callers]pets.Pet
		var errs [callers]error
		concurrently(callers, func(i int) { made[i], errs[i] = s.CreatePet(t.Context(), sent[i], key) })
		var same []pets.Pet
		for i, err := range errs {
			if err == nil {
				same = append(same, made[i])
			} else {
				dbtest.WantKind(t, "another pet with one key", err, fault.IdempotencyKeyReused)
			}
		}
		require.Len(t, same, want, "key %d", n)
		require.Len(t, slices.CompactFunc(same, equal), 1, "key %d", n)
		all = append(all, same[0])
	}
	wantAll(t, s, all)
}

// testForgetIdempotencyKeys forgets an old key beside many of a clock that was ahead.
func testForgetIdempotencyKeys(t *testing.T, f Factory) {
	s := f.open(t)
	var all []pets.Pet
	for i := range 60 {
		key := pets.IdempotencyKey{KeyID: "mine", Key: fmt.Sprint("ahead ", i)}
		all = append(all, Create(t, s, example.Pet(), key))
		f.Age(t, s, key, -24*time.Hour)
	}
	others := pets.IdempotencyKey{KeyID: "yours", Key: mine.Key} // is forgotten before
	first := Create(t, s, example.Pet(), mine)
	all = append(all, first, Create(t, s, example.Pet(), others))
	f.Age(t, s, others, 2*time.Hour)
	forget := func(age time.Duration, want int) {
		n, err := s.ForgetIdempotencyKeys(t.Context(), age)
		assert.True(t, err == nil && n == want, "ForgetIdempotencyKeys: got %d, error %v, want %d", n, err, want)
	}
	forget(2*time.Hour+time.Minute, 0)
	forget(2*time.Hour-time.Minute, 1)
	assert.Equal(t, text(first), text(Create(t, s, first.NewPet, mine)), "the same again")
	forget(-time.Hour, 1)
	forget(-time.Hour, 0)
	wantAll(t, s, all)
	assert.Greater(t, Create(t, s, example.Pet(), mine).ID, first.ID, "the ID of another pet, once the key is forgotten")
	forget(time.Hour, 0)
	forget(-time.Hour, 1)
	batch := cmp.Or(f.Batch, 60)
	forget(-25*time.Hour, batch)
	forget(-25*time.Hour, 60-batch)
}

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	farEast = time.FixedZone("far east", 14*3600)
)

type uses = map[string]time.Time // by the ID of the key

func newKey(id string, createdAt time.Time) keys.Key {
	return keys.Key{ID: id, Name: "key " + id, Hash: sha256.Sum256([]byte(id)), CreatedAt: createdAt}
}

func wantKeys(t testing.TB, s store.Store, want ...keys.Key) {
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
