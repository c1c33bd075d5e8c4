//go:build postgres

package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// requestTimeout is how long an API request may take.
const requestTimeout = 8 * time.Second

// TestFaultUnderLoad makes the primary fail while 16 clients create pets. The
// remaining server must hold every acknowledged pet exactly once.
func TestFaultUnderLoad(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(t *testing.T, primary *pgtest.Server){
		"kill": func(_ *testing.T, primary *pgtest.Server) { primary.Kill() },
		"hang": func(_ *testing.T, primary *pgtest.Server) { primary.Hang() },
		"demotion": func(t *testing.T, primary *pgtest.Server) {
			primary.Configure(t, "default_transaction_read_only", "on")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary, standby := pgtest.Pair(t)
			refused(t, standby.Address("postgres"), "the server is a standby")
			s, err := postgres.Open(t.Context(), pgtest.Address("postgres", primary.Host(), standby.Host()), store.Options{RequireSync: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			l := load(t, s)
			l.wait(t, time.Minute, 300)
			fault(t, primary)
			standby.Promote(t)
			l.wait(t, 30*time.Second, 1) // generous for all faults but a hang
			l.wait(t, time.Minute, 300)
			l.check(t, standby.Address("postgres"))
		})
	}
}

// ledger records the outcome of creates.
type ledger struct {
	acknowledged atomic.Int64
	ids          sync.Map // the identifier of each acknowledged name; 0 for a refused one

	ended   atomic.Bool
	clients sync.WaitGroup
}

// load creates pets from 16 clients until check is called. Every other client
// sends idempotency keys, and repeats a create until it succeeds.
func load(t *testing.T, s pets.Store) *ledger {
	l := &ledger{}
	for client := range 16 {
		l.clients.Go(func() {
			for n := 0; !l.ended.Load(); n++ {
				p, key := newPet(), pets.IdempotencyKey{}
				p.Name = fmt.Sprintf("pet %d of %d", n, client)
				if client%2 == 0 {
					key = pets.IdempotencyKey{KeyID: "mine", Key: p.Name}
				}
				for !l.create(t, s, p, key) {
				}
			}
		})
	}
	t.Cleanup(func() { l.ended.Store(true); l.clients.Wait() })
	return l
}

// create creates a pet once and records the outcome. It returns false if the
// client repeats the request.
func (l *ledger) create(t *testing.T, s pets.Store, p pets.NewPet, key pets.IdempotencyKey) bool {
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	began := time.Now()
	made, err := s.CreatePet(ctx, p, key)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("CreatePet: got an answer after %v, want it within 10 s", took)
	}
	switch kind := pets.KindOf(err); {
	case err == nil:
		l.ids.Store(p.Name, made.ID)
		l.acknowledged.Add(1)
	case kind != pets.Unavailable && kind != pets.Internal:
		t.Errorf("CreatePet(%q): got error %v", p.Name, err)
	case !key.IsZero() && t.Context().Err() == nil:
		return false
	case kind == pets.Unavailable:
		l.ids.Store(p.Name, int64(0)) // nothing was done
	}
	return true
}

// wait waits until n more pets are acknowledged.
func (l *ledger) wait(t *testing.T, within time.Duration, n int64) {
	t.Helper()
	want := l.acknowledged.Load() + n
	pgtest.Eventually(t, within, fmt.Sprintf("%d more pets", n), func() bool { return l.acknowledged.Load() >= want })
}

// check stops the clients and compares the ledger with the database at address.
func (l *ledger) check(t *testing.T, address string) {
	t.Helper()
	l.ended.Store(true)
	l.clients.Wait()
	stored := pgtest.Query[map[string][]int64](t, address, "SELECT json_object_agg(name, ids) FROM (SELECT name, array_agg(id) AS ids FROM pets GROUP BY name) AS p")
	for name, ids := range stored {
		if len(ids) > 1 {
			t.Errorf("%s: got it more than once: %v", name, ids)
		}
	}
	for name, id := range l.ids.Range {
		if ids := stored[name.(string)]; id == int64(0) && ids != nil || id != int64(0) && !slices.Equal(ids, []int64{id.(int64)}) {
			t.Errorf("%s: got ids %v, want %d", name, ids, id)
		}
	}
}

// TestOutage checks that a create fails with Unavailable while the only server is down.
// The first after its death may have been sent, so its outcome may be unknown.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.Address("postgres"))
	create := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
		defer cancel()
		_, err := s.CreatePet(ctx, newPet(), pets.IdempotencyKey{})
		if ctx.Err() != nil {
			t.Errorf("CreatePet: got no answer before the end of its context")
		}
		return err
	}
	before := create()
	server.Kill()
	unknown, unavailable, ping := create(), create(), s.Ping(t.Context())
	if before != nil || unknown == nil || ping != nil {
		t.Errorf("before: got error %v; after: got %v, want one; Ping in the first seconds: got %v", before, unknown, ping)
	}
	if pets.KindOf(unavailable) != pets.Unavailable || !strings.Contains(unavailable.Error(), "connection refused") {
		t.Errorf("CreatePet, again: got error %v (%v), want unavailable, with the cause", unavailable, pets.KindOf(unavailable))
	}
	server.Restart(t)
	if err := create(); err != nil {
		t.Errorf("CreatePet after the restart: got error %v", err)
	}
}
