//go:build postgres

package postgres_test

import (
	"context"
	"fmt"
	"net"
	"slices"
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
	for _, c := range []struct {
		name  string
		fault func(t *testing.T, primary, standby *pgtest.Server, link *proxy)
	}{
		{"kill", func(_ *testing.T, primary, _ *pgtest.Server, _ *proxy) { primary.Kill() }},
		{"hang behind one address", func(_ *testing.T, primary, standby *pgtest.Server, link *proxy) {
			primary.Hang()
			link.to.Store(standby.Host())
		}},
		{"partition", func(_ *testing.T, _, _ *pgtest.Server, link *proxy) { link.cut() }},
		{"demotion", func(t *testing.T, primary, _ *pgtest.Server, _ *proxy) {
			primary.Configure(t, "default_transaction_read_only", "on")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			primary, standby := pgtest.Pair(t)
			link := newProxy(t, primary.Host())
			if s, err := postgres.Open(t.Context(), standby.Address("postgres"), postgres.Options{}); err == nil {
				_ = s.Close()
				t.Errorf("Open of a standby alone: got a store, want an error")
			}
			hosts := []string{link.host(), standby.Host()}
			if c.name == "hang behind one address" {
				hosts = hosts[:1]
			}
			s, err := postgres.Open(t.Context(), pgtest.Address("postgres", hosts...), postgres.Options{RequireSync: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			l := load(t, s)
			l.wait(t, time.Minute, 300)
			c.fault(t, primary, standby, link)
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
	slowest [16]time.Duration
}

// load creates pets from 16 clients until check is called. Every other client
// sends idempotency keys, and repeats a create until it succeeds.
func load(t *testing.T, s pets.Store) *ledger {
	l := &ledger{}
	for client := range l.slowest {
		l.clients.Go(func() {
			for n := 0; !l.ended.Load(); n++ {
				p := newPet()
				p.Name = fmt.Sprintf("pet %d of %d", n, client)
				if client%2 == 0 {
					p.Idempotency = pets.Idempotency{KeyID: "mine", Key: p.Name}
				}
				for !l.create(t, s, p, &l.slowest[client]) {
				}
			}
		})
	}
	t.Cleanup(func() { l.ended.Store(true); l.clients.Wait() })
	return l
}

// create creates a pet once and records the outcome. It returns false if the
// client repeats the request.
func (l *ledger) create(t *testing.T, s pets.Store, p pets.NewPet, slowest *time.Duration) bool {
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	began := time.Now()
	made, err := s.CreatePet(ctx, p)
	*slowest = max(*slowest, time.Since(began))
	keyed := !p.Idempotency.IsZero()
	switch kind := pets.KindOf(err); {
	case err == nil:
		l.ids.Store(p.Name, made.ID)
		l.acknowledged.Add(1)
	case kind != pets.Unavailable && kind != pets.Internal:
		t.Errorf("CreatePet(%q): got error %v", p.Name, err)
	case keyed && t.Context().Err() == nil:
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
	for q := (pets.Query{Limit: 1000}); ; {
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
		if !page.More {
			break
		}
	}
	for name, id := range l.ids.Range {
		if stored[name.(string)] != id {
			t.Errorf("%s: got id %d, want %d", name, stored[name.(string)], id)
		}
	}
	if slowest := slices.Max(l.slowest[:]); slowest > 10*time.Second {
		t.Errorf("CreatePet: got an answer after %v, want it within 10 s", slowest)
	}
	t.Logf("%d acknowledged, %d unknown, %d stored, slowest answer %v", l.acknowledged.Load(), l.unknown.Load(), len(stored), slices.Max(l.slowest[:]))
}

// proxy forwards connections until cut is called, and then nothing in either
// direction.
type proxy struct {
	listener net.Listener
	to       atomic.Value // string: the target of new connections
	stopped  sync.RWMutex
}

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	p.to.Store(to)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = client.Close() })
			server, err := net.Dial("tcp", p.to.Load().(string))
			if err != nil {
				_ = client.Close()
				continue
			}
			go p.forward(client, server)
			go p.forward(server, client)
		}
	}()
	return p
}

func (p *proxy) host() string { return p.listener.Addr().String() }

func (p *proxy) cut() { p.stopped.Lock() }

func (p *proxy) forward(from, to net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.stopped.RLock() // blocks forever once the proxy is cut
		if n > 0 {
			_, _ = to.Write(buffer[:n])
		}
		p.stopped.RUnlock()
		if err != nil {
			return
		}
	}
}

// TestOutage checks that creates fail with Unavailable while the only server is down.
// The first ones after its death may have been sent, one on each connection.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.Address("postgres"))
	create := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
		defer cancel()
		_, err := s.CreatePet(ctx, newPet())
		if ctx.Err() != nil {
			t.Errorf("CreatePet: got no answer before the end of its context")
		}
		return err
	}
	var calls sync.WaitGroup
	const idle = 4
	for range idle { // so that there are several idle connections
		calls.Go(func() {
			if err := create(); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	server.Kill()
	var unknown atomic.Int64
	for range 2 * idle {
		calls.Go(func() {
			switch err := create(); {
			case err == nil:
				t.Error("CreatePet: got no error without a server")
			case pets.KindOf(err) == pets.Internal:
				unknown.Add(1)
			}
		})
	}
	calls.Wait()
	if unknown.Load() > idle {
		t.Errorf("CreatePet: got %d unknown outcomes, want at most one for each connection", unknown.Load())
	}
	for range 2 * idle {
		calls.Go(func() {
			if err := create(); pets.KindOf(err) != pets.Unavailable || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("CreatePet, later: got error %v (%v), want unavailable, with the cause", err, pets.KindOf(err))
			}
		})
	}
	calls.Wait()
	if err := s.Ping(t.Context()); pets.KindOf(err) != pets.Unavailable {
		t.Errorf("Ping: got error %v, want unavailable", err)
	}
	server.Restart(t)
	if err := create(); err != nil {
		t.Errorf("CreatePet after the restart: got error %v", err)
	}
}
