//go:build postgres

package postgres_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// Ending the wait for a standby leaves the commit on the primary alone: the
// server warns and calls it a success, or ends the connection. Neither may be
// acknowledged, and neither may a retry that finds the pet there.
func TestAWriteWhoseWaitForTheStandbyWasEndedIsNeverAcknowledged(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			address := server.Address("postgres")
			s := open(t, address)
			server.Configure(t, map[string]string{"synchronous_standby_names": "absent"})

			for i, idempotency := range []pets.Idempotency{{}, {KeyID: "mine", Key: "k1"}} {
				p := pets.NewPet{Name: strconv.Itoa(i), Status: pets.Sold, Idempotency: idempotency}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := s.CreatePet(ctx, p)
					done <- err
				}()
				// Three waits: of the insert, and of two retries.
				for range 3 {
					pgtest.Eventually(t, 20*time.Second, "ending a wait for the standby", func() bool {
						return pgtest.Query[int](t, address, "SELECT count(*) FROM (SELECT "+end+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' OFFSET 0) ended") > 0
					})
				}
				pgtest.Eventually(t, 20*time.Second, "waiting again", func() bool {
					return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") > 0
				})
				cancel()
				err := <-done
				if err == nil || pets.KindOf(err) != pets.Internal {
					t.Errorf("got error %v (%v), want internal: the outcome is unknown", err, pets.KindOf(err))
				}
			}

			// Once the standby has what it waits for, here by needing none, the
			// same idempotent request gets the pet that was stored.
			server.Configure(t, map[string]string{"synchronous_standby_names": ""})
			p := pets.NewPet{Name: "1", Status: pets.Sold, Idempotency: pets.Idempotency{KeyID: "mine", Key: "k1"}}
			if _, err := s.CreatePet(t.Context(), p); err != nil {
				t.Errorf("sent again: got error %v, want the pet", err)
			}
			if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 2 {
				t.Errorf("got %d pets, want 2", n)
			}
		})
	}
}

// Without its standby the primary lets every write wait. Reads go on, and sessions
// that wait do not pile up.
func TestWritesThatWaitForTheStandbyBlockNoReads(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.Address("postgres")+"&pool_max_conns=3")
	server.Configure(t, map[string]string{"synchronous_standby_names": "absent"})
	for i := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := s.CreatePet(ctx, pets.NewPet{Name: strconv.Itoa(i), Status: pets.Sold})
		cancel()
		want := pets.Internal // the outcome is unknown
		if i >= 3 {
			want = pets.Unavailable // the connections are taken, nothing was sent
		}
		if err == nil || pets.KindOf(err) != want {
			t.Errorf("pet %d: got error %v (%v), want %v", i, err, pets.KindOf(err), want)
		}
		if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
			t.Fatalf("listing: got error %v, want a page", err)
		}
	}
	if n := pgtest.Query[int](t, server.Address("postgres"), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"); n != 3 {
		t.Errorf("got %d sessions that wait, want 3", n)
	}
	server.Configure(t, map[string]string{"synchronous_standby_names": ""})
	pet, err := s.CreatePet(t.Context(), pets.NewPet{Name: "last", Status: pets.Sold})
	if err != nil {
		t.Fatalf("afterwards: got error %v, want a pet", err)
	}
	pgtest.Eventually(t, 10*time.Second, "the 3 pets that waited being there with pet "+strconv.FormatInt(pet.ID, 10), func() bool {
		return pgtest.Query[int](t, server.Address("postgres"), "SELECT count(*) FROM pets") == 4
	})
}

// One write waits on a connection to the primary that hangs, the other finds
// the successor by a new connection of the same pool.
func TestAWriteThatWaitsForAHungServerIsTakenToItsSuccessor(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby(t, "one")
	s := open(t, pgtest.Addresses("postgres", primary, standby))
	create := func(name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := s.CreatePet(ctx, pets.NewPet{Name: name, Status: pets.Sold})
		return err
	}
	if err := create("before"); err != nil {
		t.Fatalf("before: got error %v, want a pet", err)
	}
	written := pgtest.Query[string](t, primary.Address("postgres"), "SELECT pg_current_wal_lsn()::text")
	pgtest.Eventually(t, 20*time.Second, "the standby having the pet", func() bool {
		return pgtest.Query[bool](t, standby.Address("postgres"), "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", written)
	})
	primary.Hang()
	defer primary.Resume()
	standby.Promote(t)
	var writing sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		writing.Go(func() {
			if err := create(name); err != nil {
				t.Errorf("pet %s: got error %v, want it stored by the successor", name, err)
			}
		})
	}
	writing.Wait()
	if n := pgtest.Query[int](t, standby.Address("postgres"), "SELECT count(*) FROM pets"); n != 3 {
		t.Errorf("got %d pets, want 3", n)
	}
}
