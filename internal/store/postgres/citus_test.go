//go:build postgres && citus

package postgres

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/postgres/pgtest"
	"example.com/petstore/internal/store/storetest"
)

func TestCitus(t *testing.T) {
	t.Parallel()
	coordinator := pgtest.Cluster(t, 2)[0]
	f := factory(func(t testing.TB) string {
		return coordinator.Distributed(t, func(address string) { mustOpen(t, address) })
	})
	f.Remove = nil // a removed pet looks like one whose commit goes on: the outcome stays unknown
	storetest.Run(t, f)
}

// TestCitusPage distributes stored pets by the page's statements while a store is open,
// opens one on a worker, and forgets idempotency keys.
func TestCitusPage(t *testing.T) {
	t.Parallel()
	var s *Store
	var first pets.Pet
	nodes := pgtest.Cluster(t, 2)
	address := nodes[0].Distributed(t, func(address string) {
		s = mustOpen(t, address)
		storetest.Fill(t, s, 999, newPet())
		first = mustCreate(t, s, once)
	})
	if got := mustCreate(t, s, once); !reflect.DeepEqual(got, first) {
		t.Errorf("the same again: got %v, want %v", got, first)
	}
	if got := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); got != 1000 {
		t.Errorf("got %d pets, want 1000", got)
	}
	other := pets.IdempotencyKey{KeyID: once.KeyID, Key: "k2"}
	made := mustCreate(t, mustOpen(t, strings.Replace(address, nodes[0].Host(), nodes[1].Host(), 1)), other)
	if got := mustCreate(t, s, other); !reflect.DeepEqual(got, made) || made.ID != 1<<48+1 {
		t.Errorf("created on a worker: got %v, and again on the coordinator %v, want the id 281474976710657", made, got)
	}
	if n, err := s.ForgetIdempotencyKeys(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 2 {
		t.Errorf("ForgetIdempotencyKeys: got %d, error %v, want 2", n, err)
	}
	if got := mustCreate(t, s, once); reflect.DeepEqual(got, first) {
		t.Errorf("after its key was forgotten: got the pet %v again, want another", got)
	}
}

// TestCitusKill kills each node of a cluster under load.
func TestCitusKill(t *testing.T) {
	t.Parallel()
	nodes := pgtest.Cluster(t, 2)
	address := nodes[0].Distributed(t, func(address string) { mustOpen(t, address) })
	l := load(t, mustOpen(t, address))
	for range 2 {
		for _, node := range nodes {
			l.wait(t, time.Minute, 300)
			node.Kill()
			time.Sleep(300 * time.Millisecond) // under load
			node.Run(t)
		}
	}
	l.wait(t, time.Minute, 300)
	l.check(t, address)
}

// TestCitusSync checks that no create succeeds whose wait for a worker's standby was
// canceled.
func TestCitusSync(t *testing.T) {
	t.Parallel()
	nodes := pgtest.Cluster(t, 1)
	worker := nodes[1]
	s := mustOpen(t, nodes[0].Distributed(t, func(address string) { mustOpen(t, address) }))
	worker.Configure(t, "synchronous_standby_names", "absent")
	for _, key := range []string{"", "k1"} {
		done := make(chan error, 1)
		go func() { done <- create(t.Context(), s, pets.IdempotencyKey{Key: key}) }()
		var err error
		pgtest.Eventually(t, 2*requestTimeout, "an answer", func() bool {
			ended(t, worker.Address("postgres"), "pg_cancel_backend")
			select {
			case err = <-done:
				return true
			default:
				return false
			}
		})
		if err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("CreatePet with key %q: got error %v (%v), want Internal", key, err, fault.KindOf(err))
		}
	}
}
