//go:build postgres

package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// Sessions that go on waiting for a lock when their reader has gone would pile up.
func TestAReadThatItsDeadlineEndsLeavesNoSessionBehind(t *testing.T) {
	t.Parallel() // it mostly waits
	address := pgtest.Database(t)
	s := open(t, address)
	pgtest.Lock(t, address, "LOCK TABLE pets IN ACCESS EXCLUSIVE MODE")
	waiting := func() int {
		return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted AND datname = current_database()")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	read := make(chan error, 1)
	go func() { _, err := s.Pets(ctx, pets.Query{Limit: 1}); read <- err }()
	pgtest.Eventually(t, 3*time.Second, "the read waiting for the lock", func() bool { return waiting() == 1 })
	if err := <-read; pets.KindOf(err) != pets.Unavailable {
		t.Errorf("got error %v (%v), want unavailable", err, pets.KindOf(err))
	}
	pgtest.Eventually(t, 10*time.Second, "the session ending", func() bool { return waiting() == 0 })
}
