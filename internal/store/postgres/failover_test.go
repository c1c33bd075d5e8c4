//go:build postgres

package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
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
			if s, err := postgres.Open(t.Context(), standby.Address("postgres"), postgres.Options{}); err == nil {
				_ = s.Close()
				t.Errorf("Open of a standby alone: got a store, want an error")
			}
			s, err := postgres.Open(t.Context(), pgtest.Address("postgres", primary.Host(), standby.Host()), postgres.Options{RequireSync: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			l := load(t, s)
			l.wait(t, time.Minute, 300)
			fault(t, primary)
			standby.Promote(t)
			promoted := time.Now()
			l.wait(t, 30*time.Second, 1) // generous for all faults but a hang
			t.Logf("the first pet after the promotion: %v", time.Since(promoted))
			l.wait(t, time.Minute, 300)
			l.check(t, standby.Address("postgres"))
		})
	}
}

// ledger records the outcome of creates.
type ledger struct {
	acknowledged, unknown atomic.Int64

	ended   atomic.Bool
	clients sync.WaitGroup
	ids     sync.Map // the identifier of each acknowledged name; 0 for a refused one
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
	default:
		l.unknown.Add(1)
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
	s := open(t, address)
	stored := map[string]int64{}
	for q, more := (pets.Query{Limit: 1000}), true; more; {
		page, err := s.Pets(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.Pets {
			if stored[p.Name] != 0 {
				t.Errorf("%s: got it twice, as %d and %d", p.Name, stored[p.Name], p.ID)
			}
			stored[p.Name], q.After = p.ID, p.ID
		}
		more = page.More
	}
	for name, id := range l.ids.Range {
		if stored[name.(string)] != id {
			t.Errorf("%s: got id %d, want %d", name, stored[name.(string)], id)
		}
	}
	t.Logf("%d acknowledged, %d unknown, %d stored", l.acknowledged.Load(), l.unknown.Load(), len(stored))
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
	if err := create(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := create(); err == nil {
		t.Error("CreatePet: got no error without a server")
	}
	if err := create(); pets.KindOf(err) != pets.Unavailable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("CreatePet, again: got error %v (%v), want unavailable, with the cause", err, pets.KindOf(err))
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping in the first seconds: got error %v", err)
	}
	server.Restart(t)
	if err := create(); err != nil {
		t.Errorf("CreatePet after the restart: got error %v", err)
	}
}
