//go:build postgres

package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// loadOf yields n pets, and calls halfway in the middle.
func loadOf(n int, halfway func()) func(func(pets.NewPet, error) bool) {
	return func(yield func(pets.NewPet, error) bool) {
		for i := range n {
			if i == n/2 {
				halfway()
			}
			if !yield(pets.NewPet{Name: strconv.Itoa(i), Status: pets.Sold}, nil) {
				return
			}
		}
	}
}

// The commit of a load waits for the standby as every commit does. The end of that
// wait is a warning or the end of the connection: then the store asks the server,
// and the question waits for the standby too.
func TestALoadWhoseWaitForTheStandbyWasEndedIsNotAcknowledgedBeforeTheStandbyHasIt(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(end, func(t *testing.T) {
			server := pgtest.Start(t)
			address := server.Address("postgres")
			s := open(t, address)
			server.Configure(t, map[string]string{"synchronous_standby_names": "absent"})
			type outcome struct {
				n   int
				err error
			}
			done := make(chan outcome, 1)
			go func() {
				n, err := s.Load(t.Context(), loadOf(300, func() {}))
				done <- outcome{n, err}
			}()
			for range 3 { // of the load, and of two questions
				pgtest.Eventually(t, 20*time.Second, "ending a wait for the standby", func() bool {
					return pgtest.Query[int](t, address, "SELECT count(*) FROM (SELECT "+end+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' OFFSET 0) ended") > 0
				})
			}
			select {
			case o := <-done:
				t.Fatalf("without a standby: got %d, %v, want no result yet", o.n, o.err)
			default:
			}
			server.Configure(t, map[string]string{"synchronous_standby_names": ""})
			if o := <-done; o.n != 300 || o.err != nil {
				t.Errorf("got %d, error %v, want 300 pets", o.n, o.err)
			}
			if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 300 {
				t.Errorf("got %d pets, want 300", n)
			}
		})
	}
}

func TestALoadWhoseConnectionBreaksBeforeItsCommitLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for what, spoil := range map[string]func(){
		"its backend ended": func() {
			pgtest.Query[int](t, server.Address("postgres"), "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'copy %' OFFSET 0) ended")
		},
		"its server killed": server.Kill,
	} {
		t.Run(what, func(t *testing.T) {
			s := open(t, server.Address("postgres"))
			n, err := s.Load(t.Context(), loadOf(200_000, spoil))
			if n != 0 || err == nil || pets.KindOf(err) != pets.Unavailable {
				t.Errorf("got %d, error %v (%v), want unavailable: nothing was stored", n, err, pets.KindOf(err))
			}
			if what == "its server killed" {
				server.Restart(t)
			}
			if n := pgtest.Query[int](t, server.Address("postgres"), "SELECT count(*) FROM pets"); n != 0 {
				t.Errorf("got %d pets, want none", n)
			}
			if n, err := s.Load(t.Context(), loadOf(10, func() {})); n != 10 || err != nil {
				t.Errorf("afterwards: got %d, error %v, want 10 pets", n, err)
			}
			pgtest.Exec(t, server.Address("postgres"), "TRUNCATE pets")
		})
	}
}
