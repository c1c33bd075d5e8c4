//go:build linux

package pgtest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/engine/fault"
)

// Ledger records the outcome of inserts.
type Ledger struct {
	mu  sync.Mutex
	ids map[string]int64 // by name, the identifier of an acknowledged row, 0 of a rejected one

	acknowledged atomic.Int64
	ended        atomic.Bool
	clients      sync.WaitGroup
}

// Load inserts rows with unique names from 16 clients until Check is called. The inserts of every
// other client are keyed: each inserts one row only, and is repeated until it succeeds.
func Load(t testing.TB, insert func(ctx context.Context, name string, keyed bool) (id int64, err error)) *Ledger {
	l := &Ledger{ids: map[string]int64{}}
	for client := range 16 {
		l.clients.Go(func() {
			keyed := client%2 == 0
			for n := 0; !l.ended.Load(); n++ {
				name := fmt.Sprintf("row %d of %d", n, client)
				id, err := insert(t.Context(), name, keyed)
				for keyed && err != nil && t.Context().Err() == nil {
					id, err = insert(t.Context(), name, keyed)
				}
				if err == nil {
					l.acknowledged.Add(1)
				} else if fault.KindOf(err) == fault.Unavailable {
					id = 0 // nothing was done
				} else {
					continue
				}
				l.mu.Lock()
				l.ids[name] = id
				l.mu.Unlock()
			}
		})
	}
	t.Cleanup(func() { l.ended.Store(true); l.clients.Wait() })
	return l
}

// outcomes returns what is known of each row.
func (l *Ledger) outcomes() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.ids)
}

// Read reads all rows, by name, until Check is called: what was acknowledged or read before must be
// in every later read, with the same identifier, and a rejected row in none.
func (l *Ledger) Read(t testing.TB, list func(context.Context) (map[string]int64, error)) {
	l.clients.Go(func() {
		known := map[string]int64{}
		for !l.ended.Load() {
			maps.Copy(known, l.outcomes())
			if rows, err := list(t.Context()); err == nil {
				compare(t, rows, known)
				maps.Copy(known, rows)
			}
		}
	})
}

func compare(t testing.TB, rows, known map[string]int64) {
	t.Helper()
	for name, id := range known {
		if rows[name] != id {
			t.Errorf("%s: got id %d, want %d", name, rows[name], id)
		}
	}
}

// Wait waits until n more rows are acknowledged.
func (l *Ledger) Wait(t testing.TB, n int64) {
	t.Helper()
	want := l.acknowledged.Load() + n
	Eventually(t, fmt.Sprintf("%d more rows", n), func() bool { return l.acknowledged.Load() >= want })
}

// Check stops the clients, and checks that a table has each acknowledged name once, and no rejected one.
func (l *Ledger) Check(t testing.TB, address, table, column string) {
	t.Helper()
	l.ended.Store(true)
	l.clients.Wait()
	rows := map[string]int64{}
	for name, ids := range Query[map[string][]int64](t, address, fmt.Sprintf(
		"SELECT json_object_agg(name, ids) FROM (SELECT %s AS name, array_agg(id) AS ids FROM %s GROUP BY name) AS rows", column, table)) {
		if rows[name] = ids[0]; len(ids) > 1 {
			t.Errorf("%s: got it more than once: %v", name, ids)
		}
	}
	compare(t, rows, l.outcomes())
}
