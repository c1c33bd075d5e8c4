package storetest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

// noon is some time of whole seconds, which is how exactly stores keep times.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func keys(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"A key comes back as stored, with no other key's hash", aKeyComesBackAsStored},
		{"The stored hash opens with its token and with no other", theStoredHashOpensWithItsTokenAndWithNoOther},
		{"Keys are listed oldest first, whenever they were stored", keysAreListedOldestFirst},
		{"Revoking keeps the first time and everything else", revokingKeepsTheFirstTimeAndEverythingElse},
		{"A rotated key ends no later than it would have, and its successor works", aRotatedKeyEndsNoLaterThanItWouldHave},
		{"A key that does not work, or not any more, is not rotated", aKeyThatDoesNotWorkIsNotRotated},
		{"A rotation that fails leaves the old key as it was", aRotationThatFailsLeavesTheOldKeyAsItWas},
		{"Of many rotations of a key at once, each is whole", ofManyRotationsOfAKeyAtOnceEachIsWhole},
		{"A read-only key comes back as one, revoked too", aReadOnlyKeyComesBackAsOne},
		{"Of the uses of a key the latest is kept, in any order and of any zone", ofTheUsesOfAKeyTheLatestIsKept},
		{"A use in the future is replaced by the next one", aUseInTheFutureIsReplacedByTheNextOne},
		{"Many record uses of the same keys at once", manyRecordUsesOfTheSameKeysAtOnce},
		{"A time of any zone is kept as the same moment", aTimeOfAnyZoneIsKeptAsTheSameMoment},
		{"A key that does not exist is not found", aKeyThatDoesNotExistIsNotFound},
		{"Identifiers of keys are told apart by case", identifiersOfKeysAreToldApartByCase},
		{"A second key with the same identifier is refused and changes nothing", aSecondKeyWithTheSameIdentifierIsRefused},
	})
}

func aKeyComesBackAsStored(t *testing.T, open opener) {
	s := open(t)
	lasting := mustCreateKey(t, s, "lasting", noon, 0)
	short := mustCreateKey(t, s, strings.Repeat("é", pets.MaxKeyName), noon, 90*time.Second)
	mustFindKey(t, s, lasting)
	mustFindKey(t, s, short)
	if !short.ExpiresAt.Equal(noon.Add(90 * time.Second)) {
		t.Errorf("expiry: got %v, want 90 s after %v", short.ExpiresAt, noon)
	}
}

func theStoredHashOpensWithItsTokenAndWithNoOther(t *testing.T, open opener) {
	s := open(t)
	k, token, err := pets.NewKey("someone", noon, time.Hour)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	if err := s.CreateKey(t.Context(), k); err != nil {
		t.Fatalf("storing a key: got error %v", err)
	}
	stored, err := s.Key(t.Context(), k.ID)
	if err != nil {
		t.Fatalf("key %q: got error %v", k.ID, err)
	}
	if !stored.HasHash(pets.HashToken(token)) || stored.State(noon) != pets.KeyActive {
		t.Error("its own token: got refused, want opened")
	}
	if stored.HasHash(pets.HashToken(token + "x")) {
		t.Error("another token: got opened, want refused")
	}
	if stored.State(noon.Add(time.Hour)) != pets.KeyExpired {
		t.Error("after its expiry: got opened, want refused")
	}
}

func keysAreListedOldestFirst(t *testing.T, open opener) {
	s := open(t)
	if got := mustListKeys(t, s); len(got) != 0 {
		t.Fatalf("empty store: got %v, want no keys", got)
	}
	middle := mustCreateKey(t, s, "middle", noon, time.Hour)
	youngest := mustCreateKey(t, s, "youngest", noon.Add(time.Second), 0)
	oldest := mustCreateKey(t, s, "oldest", noon.Add(-time.Second), 0)
	if got, want := mustListKeys(t, s), []pets.Key{oldest, middle, youngest}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	revoked := mustRevoke(t, s, middle.ID, noon.Add(time.Minute))
	if got, want := mustListKeys(t, s), []pets.Key{oldest, revoked, youngest}; !slices.Equal(got, want) {
		t.Errorf("with one revoked: got %v, want %v", got, want)
	}
}

func revokingKeepsTheFirstTimeAndEverythingElse(t *testing.T, open opener) {
	s := open(t)
	k := mustCreateKey(t, s, "someone", noon, time.Hour)
	bystander := mustCreateKey(t, s, "someone else", noon, 0)
	want := k
	want.RevokedAt = noon.Add(time.Minute)
	for _, at := range []time.Time{want.RevokedAt, noon.Add(time.Hour), noon} {
		if got := mustRevoke(t, s, k.ID, at); got != want {
			t.Errorf("revoking at %v: got %v, want %v", at, got, want)
		}
	}
	mustFindKey(t, s, want)
	mustFindKey(t, s, bystander)
}

func aReadOnlyKeyComesBackAsOne(t *testing.T, open opener) {
	s := open(t)
	k, _, err := pets.NewKey("reader", noon, 0)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	k.ReadOnly = true
	if err := s.CreateKey(t.Context(), k); err != nil {
		t.Fatalf("storing a key: got error %v", err)
	}
	mustFindKey(t, s, k)
	k.RevokedAt = noon.Add(time.Minute)
	if got := mustRevoke(t, s, k.ID, k.RevokedAt); got != k {
		t.Errorf("revoked: got %v, want %v", got, k)
	}
}

func ofTheUsesOfAKeyTheLatestIsKept(t *testing.T, open opener) {
	s := open(t)
	first := mustCreateKey(t, s, "first", noon, 0)
	second := mustCreateKey(t, s, "second", noon, 0)
	unused := mustCreateKey(t, s, "unused", noon, 0)
	late := noon.Add(time.Hour).In(time.FixedZone("far east", 14*3600))
	mustRecordUse(t, s, map[string]time.Time{first.ID: noon.Add(time.Minute), second.ID: late, "absent": noon})
	mustRecordUse(t, s, map[string]time.Time{first.ID: noon.Add(2*time.Minute + 700*time.Millisecond), second.ID: noon})
	mustRecordUse(t, s, nil)
	first.UsedAt, second.UsedAt = noon.Add(2*time.Minute), late.UTC()
	if got, want := mustListKeys(t, s), []pets.Key{first, second, unused}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	second.RevokedAt = noon.Add(time.Minute)
	if got := mustRevoke(t, s, second.ID, second.RevokedAt); got != second {
		t.Errorf("revoked: got %v, want %v", got, second)
	}
}

// The clock of a server jumped a year ahead, and back.
func aUseInTheFutureIsReplacedByTheNextOne(t *testing.T, open opener) {
	s := open(t)
	k := mustCreateKey(t, s, "someone", noon, 0)
	mustRecordUse(t, s, map[string]time.Time{k.ID: noon.AddDate(1, 0, 0)})
	k.UsedAt = noon.Add(time.Minute)
	mustRecordUse(t, s, map[string]time.Time{k.ID: k.UsedAt})
	mustFindKey(t, s, k)
	k.UsedAt = noon.Add(time.Minute + pets.ClockError)
	mustRecordUse(t, s, map[string]time.Time{k.ID: k.UsedAt})
	mustRecordUse(t, s, map[string]time.Time{k.ID: noon.Add(time.Minute)})
	mustFindKey(t, s, k)
}

func manyRecordUsesOfTheSameKeysAtOnce(t *testing.T, open opener) {
	s := open(t)
	used := map[string]time.Time{}
	for range 8 {
		used[mustCreateKey(t, s, "someone", noon, 0).ID] = noon
	}
	each(8, func(i int) {
		mine := maps.Clone(used)
		for id := range mine {
			mine[id] = noon.Add(time.Duration(i) * time.Second)
		}
		mustRecordUse(t, s, mine)
	})
	for _, k := range mustListKeys(t, s) {
		if want := noon.Add(7 * time.Second); k.UsedAt != want {
			t.Errorf("used at: got %v, want %v", k.UsedAt, want)
		}
	}
}

func aTimeOfAnyZoneIsKeptAsTheSameMoment(t *testing.T, open opener) {
	s := open(t)
	zone := time.FixedZone("far east", 14*3600)
	k := mustCreateKey(t, s, "someone", noon.In(zone), time.Hour)
	mustFindKey(t, s, k)
	if got := mustRevoke(t, s, k.ID, noon.In(zone)); got.RevokedAt != noon {
		t.Errorf("revoked at: got %v, want %v", got.RevokedAt, noon)
	}
}

func aKeyThatDoesNotExistIsNotFound(t *testing.T, open opener) {
	s := open(t)
	k := mustCreateKey(t, s, "someone", noon, 0)
	for _, id := range []string{"", "00000000", k.ID[:7], k.ID + "0", "%", "' OR '1'='1", "é"} {
		_, err := s.Key(t.Context(), id)
		wantKind(t, "an absent key", err, pets.NotFound)
		_, err = s.RevokeKey(t.Context(), id, noon)
		wantKind(t, "revoking an absent key", err, pets.NotFound)
	}
	mustFindKey(t, s, k)
}

func identifiersOfKeysAreToldApartByCase(t *testing.T, open opener) {
	s := open(t)
	lower := mustCreateKey(t, s, "lower", noon, 0)
	lower.ID = strings.ToLower(lower.ID) + "a"
	upper := lower
	upper.ID, upper.Name = strings.ToUpper(lower.ID), "upper"
	for _, k := range []pets.Key{lower, upper} {
		if err := s.CreateKey(t.Context(), k); err != nil {
			t.Fatalf("storing key %q: got error %v", k.ID, err)
		}
	}
	mustFindKey(t, s, lower)
	mustFindKey(t, s, upper)
}

func aSecondKeyWithTheSameIdentifierIsRefused(t *testing.T, open opener) {
	s := open(t)
	k := mustCreateKey(t, s, "first", noon, 0)
	second := k
	second.Name, second.Hash = "second", pets.HashToken("second")
	// Internal, since trying again would be as vain: identifiers are random.
	wantKind(t, "a second key", s.CreateKey(t.Context(), second), pets.Internal)
	if got := mustListKeys(t, s); !slices.Equal(got, []pets.Key{k}) {
		t.Errorf("got %v, want only %v", got, k)
	}
	mustCreate(t, s, pets.NewPet{Name: "Rex", Status: pets.Available})
}

func mustCreateKey(t tester, s pets.Store, name string, now time.Time, lifetime time.Duration) pets.Key {
	t.Helper()
	k, _, err := pets.NewKey(name, now, lifetime)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	if err := s.CreateKey(t.Context(), k); err != nil {
		t.Fatalf("storing a key: got error %v", err)
	}
	return k
}

func mustFindKey(t tester, s pets.Store, want pets.Key) {
	t.Helper()
	if got, err := s.Key(t.Context(), want.ID); err != nil || got != want {
		t.Errorf("key %q: got %v (error %v), want %v", want.ID, got, err, want)
	}
}

func mustListKeys(t tester, s pets.Store) []pets.Key {
	t.Helper()
	keys, err := s.Keys(t.Context())
	if err != nil {
		t.Fatalf("listing keys: got error %v", err)
	}
	return keys
}

func mustRevoke(t tester, s pets.Store, id string, at time.Time) pets.Key {
	t.Helper()
	k, err := s.RevokeKey(t.Context(), id, at)
	if err != nil {
		t.Fatalf("revoking key %q: got error %v", id, err)
	}
	return k
}

func mustRecordUse(t tester, s pets.Store, used map[string]time.Time) {
	t.Helper()
	if err := s.RecordKeyUse(t.Context(), used); err != nil {
		t.Errorf("recording uses: got error %v", err)
	}
}
