//go:build postgres

package postgres_test

import (
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// A rotation is sent again where its first outcome is unknown.
func TestARotationThatIsSentAgainIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.Start(t).Address("postgres"))
	now := time.Now().UTC().Truncate(time.Second)
	old, _, err := pets.NewKey("someone", now, 0)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	successor, _, err := old.Successor(now, 0)
	if err != nil {
		t.Fatalf("making its successor: got error %v", err)
	}
	if err := s.CreateKey(t.Context(), old); err != nil {
		t.Fatalf("storing a key: got error %v", err)
	}
	old.ExpiresAt = now // so the first attempt alone makes it one that does not work
	for attempt := range 2 {
		if got, err := s.RotateKey(t.Context(), old.ID, successor, now); err != nil || got != old {
			t.Errorf("attempt %d: got %v (error %v), want %v", attempt, got, err, old)
		}
	}
	if keys, err := s.Keys(t.Context()); err != nil || len(keys) != 2 {
		t.Errorf("keys: got %v (error %v), want the old one and its successor", keys, err)
	}
}
