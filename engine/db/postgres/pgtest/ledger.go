//go:build linux

package pgtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/engine/fault"
)

// Ledger records the outcome of inserts.
type Ledger struct {
	acknowledged atomic.Int64
	ids          sync.Map // by name, the identifier of an acknowledged row, none of a rejected one

	ended   atomic.Bool
	clients sync.WaitGroup
}

// Load inserts rows with unique names from 16 clients until Check is called. The inserts of every
// other client are keyed: each inserts one row only, and is repeated until it succeeds.
func Load(t testing.TB, insert func(ctx context.Context, name string, keyed bool) (id int64, err error)) *Ledger {
	l := &Ledger{}
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
					l.ids.Store(name, []int64{id})
					l.acknowledged.Add(1)
				} else if fault.KindOf(err) == fault.Unavailable {
					l.ids.Store(name, []int64(nil)) // nothing was done
				}
			}
		})
	}
	t.Cleanup(func() { l.ended.Store(true); l.clients.Wait() })
	return l
}

// Read reads all rows, by name, until Check is called: what was acknowledged or read before must be
// in every later read, with the same identifier, and a rejected row in none.
func (l *Ledger) Read(t testing.TB, list func(context.Context) (map[string]int64, error)) {
	l.clients.Go(func() {
		known := map[string]int64{}
		for !l.ended.Load() {
			for name, ids := range l.ids.Range {
				if ids := ids.([]int64); len(ids) > 0 {
					known[name.(string)] = ids[0]
				}
			}
			rows, err := list(t.Context())
			if err != nil {
				continue
			}
			for name, id := range known {
				if rows[name] != id {
					t.Errorf("a read: got id %d of %s, want %d as before", rows[name], name, id)
				}
			}
			maps.Copy(known, rows)
			for name := range rows {
				if ids, ended := l.ids.Load(name); ended && len(ids.([]int64)) == 0 {
					t.Errorf("a read: got %s, which was rejected", name)
				}
			}
		}
	})
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
	stored := Query[map[string][]int64](t, address, fmt.Sprintf(
		"SELECT json_object_agg(name, ids) FROM (SELECT %s AS name, array_agg(id) AS ids FROM %s GROUP BY name) AS rows", column, table))
	for name, ids := range stored {
		if len(ids) > 1 {
			t.Errorf("%s: got it more than once: %v", name, ids)
		}
	}
	for name, want := range l.ids.Range {
		if ids := stored[name.(string)]; !slices.Equal(ids, want.([]int64)) {
			t.Errorf("%s: got ids %v, want %v", name, ids, want)
		}
	}
}
