package storetest

import (
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

func aRotatedKeyEndsNoLaterThanItWouldHave(t *testing.T, open opener) {
	s := open(t)
	bystander := mustCreateKey(t, s, "someone else", noon, 0)
	now := noon.Add(time.Minute)
	for _, c := range []struct {
		lifetime, overlap, want time.Duration // from noon, from now, from noon
	}{
		{0, time.Hour, time.Hour + time.Minute},
		{0, 0, time.Minute},
		{time.Hour, 24 * time.Hour, time.Hour},
		{24 * time.Hour, time.Hour, time.Hour + time.Minute},
	} {
		old := mustCreateKey(t, s, "someone", noon, c.lifetime)
		successor := mustMakeSuccessor(t, old, now, 48*time.Hour)
		want := old
		want.ExpiresAt = noon.Add(c.want)
		zone := time.FixedZone("far east", 14*3600)
		if got, err := s.RotateKey(t.Context(), old.ID, successor, now.Add(c.overlap).In(zone)); err != nil || got != want {
			t.Errorf("lifetime %v, overlap %v: got %v (error %v), want %v", c.lifetime, c.overlap, got, err, want)
		}
		mustFindKey(t, s, want)
		mustFindKey(t, s, successor)
	}
	mustFindKey(t, s, bystander)
}

func aKeyThatDoesNotWorkIsNotRotated(t *testing.T, open opener) {
	s := open(t)
	expired := mustCreateKey(t, s, "expired", noon, time.Minute)
	revoked := mustCreateKey(t, s, "revoked", noon, 0)
	revoked = mustRevoke(t, s, revoked.ID, noon)
	absent, _, err := pets.NewKey("absent", noon, 0)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	for _, k := range []pets.Key{expired, revoked, absent} {
		successor := mustMakeSuccessor(t, k, noon.Add(time.Minute), 0)
		_, err := s.RotateKey(t.Context(), k.ID, successor, noon.Add(time.Hour))
		wantKind(t, "rotating a key that is "+k.Name, err, pets.NotFound)
	}
	if got, want := mustListKeys(t, s), []pets.Key{expired, revoked}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func aRotationThatFailsLeavesTheOldKeyAsItWas(t *testing.T, open opener) {
	s := open(t)
	k := mustCreateKey(t, s, "someone", noon, 0)
	other := mustCreateKey(t, s, "someone else", noon, 0)
	successor := mustMakeSuccessor(t, k, noon, 0)
	successor.ID = other.ID
	if _, err := s.RotateKey(t.Context(), k.ID, successor, noon.Add(time.Hour)); err == nil {
		t.Error("a successor with the identifier of another key: got it stored, want an error")
	}
	if got, want := mustListKeys(t, s), []pets.Key{k, other}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mustCreate(t, s, pets.NewPet{Name: "Rex", Status: pets.Available})
}

func ofManyRotationsOfAKeyAtOnceEachIsWhole(t *testing.T, open opener) {
	const n = 8
	s := open(t)
	old := mustCreateKey(t, s, "someone", noon, 0)
	successors := make([]pets.Key, n)
	for i := range successors {
		successors[i] = mustMakeSuccessor(t, old, noon, 0)
	}
	each(n, func(i int) {
		end := noon.Add(time.Duration(i+1) * time.Hour)
		if got, err := s.RotateKey(t.Context(), old.ID, successors[i], end); err != nil || got.ExpiresAt.After(end) {
			t.Errorf("rotation %d: got %v (error %v), want an end at %v or before", i, got, err, end)
		}
	})
	old.ExpiresAt = noon.Add(time.Hour)
	mustFindKey(t, s, old)
	for _, k := range successors {
		mustFindKey(t, s, k)
	}
}

func mustMakeSuccessor(t tester, k pets.Key, now time.Time, lifetime time.Duration) pets.Key {
	t.Helper()
	successor, _, err := k.Successor(now, lifetime)
	if err != nil || successor.Name != k.Name || successor.ReadOnly != k.ReadOnly {
		t.Fatalf("making a successor of %v: got %v (error %v), want its name and right", k, successor, err)
	}
	return successor
}
