//go:build linux

package pgtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/fault"
)

// RequestTimeout is how long a request may take.
const RequestTimeout = 8 * time.Second

// Insert inserts a row with a unique name and returns its identifier. If it is keyed, it
// inserts one row only, however often it is called.
type Insert func(ctx context.Context, name string, keyed bool) (id int64, err error)

// Ledger records the outcome of inserts.
type Ledger struct {
	acknowledged atomic.Int64
	ids          sync.Map // the identifier of each acknowledged name; 0 for a refused one

	ended   atomic.Bool
	clients sync.WaitGroup
}

// Load inserts rows from 16 clients until Check is called. Every other client has keys, and
// repeats an insert until it succeeds.
func Load(t testing.TB, insert Insert) *Ledger {
	l := &Ledger{}
	for client := range 16 {
		l.clients.Go(func() {
			for n := 0; !l.ended.Load(); n++ {
				for !l.insert(t, insert, fmt.Sprintf("row %d of %d", n, client), client%2 == 0) {
				}
			}
		})
	}
	t.Cleanup(func() { l.ended.Store(true); l.clients.Wait() })
	return l
}

// insert inserts a row and records the outcome. It returns false if the client repeats the
// request.
func (l *Ledger) insert(t testing.TB, insert Insert, name string, keyed bool) bool {
	ctx, cancel := context.WithTimeout(t.Context(), RequestTimeout)
	defer cancel()
	began := time.Now()
	id, err := insert(ctx, name, keyed)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("insert: got an answer after %v, want it within 10 s", took)
	}
	switch kind := fault.KindOf(err); {
	case err == nil:
		l.ids.Store(name, id)
		l.acknowledged.Add(1)
	case kind != fault.Unavailable && kind != fault.Internal:
		t.Errorf("insert %q: got error %v", name, err)
	case keyed && t.Context().Err() == nil:
		return false
	case kind == fault.Unavailable:
		l.ids.Store(name, int64(0)) // nothing was done
	}
	return true
}

// Wait waits until n more rows are acknowledged.
func (l *Ledger) Wait(t testing.TB, within time.Duration, n int64) {
	t.Helper()
	want := l.acknowledged.Load() + n
	Eventually(t, within, fmt.Sprintf("%d more rows", n), func() bool { return l.acknowledged.Load() >= want })
}

// Check stops the clients and compares the ledger with a column of names in a table of the
// database at address, which holds each acknowledged row once and no refused one.
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
	for name, id := range l.ids.Range {
		if ids := stored[name.(string)]; id == int64(0) && ids != nil || id != int64(0) && !slices.Equal(ids, []int64{id.(int64)}) {
			t.Errorf("%s: got ids %v, want %d", name, ids, id)
		}
	}
}
