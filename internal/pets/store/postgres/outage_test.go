//go:build postgres

package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// A caller is told before its deadline that nothing was done.
func TestWhatWasNotExecutedIsUnavailableBeforeTheDeadline(t *testing.T) {
	wantUnavailable := func(t *testing.T, what string, call func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		err := call(ctx)
		if err == nil || pets.KindOf(err) != pets.Unavailable || ctx.Err() != nil {
			t.Errorf("%s: got error %v (%v), the deadline passed: %t; want unavailable before it", what, err, pets.KindOf(err), ctx.Err() != nil)
		}
	}
	newPet := pets.NewPet{Name: "Rex", Status: pets.Sold}

	t.Run("with the server gone", func(t *testing.T) {
		server := pgtest.Start(t)
		s := open(t, server.Address("postgres"))
		pet, err := s.CreatePet(t.Context(), newPet)
		if err != nil {
			t.Fatalf("before: got error %v, want a pet", err)
		}
		create := func(ctx context.Context) error { _, err := s.CreatePet(ctx, newPet); return err }
		server.Kill()
		for range 2 { // the first finds out, the second is refused
			wantUnavailable(t, "creating", create)
			wantUnavailable(t, "getting", func(ctx context.Context) error { _, err := s.Pet(ctx, pet.ID); return err })
			wantUnavailable(t, "listing", func(ctx context.Context) error { _, err := s.Pets(ctx, pets.Query{Limit: 1}); return err })
			wantUnavailable(t, "reading a key", func(ctx context.Context) error { _, err := s.Key(ctx, "k"); return err })
			wantUnavailable(t, "pinging", s.Ping)
		}
		server.Restart(t)
		pgtest.Eventually(t, 20*time.Second, "creating again", func() bool { return create(t.Context()) == nil })
		if page, err := s.Pets(t.Context(), pets.Query{Limit: 10}); err != nil || len(page.Pets) != 2 {
			t.Errorf("afterwards: got %d pets (error %v), want 2", len(page.Pets), err)
		}
	})

	t.Run("with every connection taken", func(t *testing.T) {
		address := pgtest.Start(t).Address("postgres")
		s := open(t, address+"&pool_max_conns=1")
		release := pgtest.Lock(t, address, "LOCK TABLE pets IN ACCESS EXCLUSIVE MODE")
		taken := make(chan error)
		go func() { _, err := s.CreatePet(t.Context(), newPet); taken <- err }()
		pgtest.Eventually(t, 20*time.Second, "the connection being taken", func() bool {
			return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 1
		})
		for range 2 {
			wantUnavailable(t, "creating", func(ctx context.Context) error { _, err := s.CreatePet(ctx, newPet); return err })
		}
		release()
		if err := <-taken; err != nil {
			t.Errorf("the call that had the connection: got error %v, want a pet", err)
		}
		pgtest.Eventually(t, 20*time.Second, "creating again", func() bool { _, err := s.CreatePet(t.Context(), newPet); return err == nil })
	})
}
