// Package dbtest has what the tests of databases and of stores in them share.
package dbtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/fault"
)

// WantKind checks that err is an error of a kind.
func WantKind(t testing.TB, what string, err error, want fault.Kind) {
	got := fault.KindOf(err)
	assert.True(t, err != nil && got == want, "%s: got error %v (%v), want %v", what, err, got, want)
}

// WantError checks that the text of err contains want, or that err is nil if want is empty.
func WantError(t testing.TB, what string, err error, want string) {
	ok := (err == nil) == (want == "") && strings.Contains(fmt.Sprint(err), want)
	assert.True(t, ok, "%s: got error %v, want %q in it", what, err, want)
}

// Eventually waits until check returns true.
func Eventually(t testing.TB, what string, check func() bool) {
	const patience = 2 * time.Minute // also on a busy machine
	for deadline := time.Now().Add(patience); !check(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%s: not within %v", what, patience)
	}
}

// NewLog returns a logger, and what it writes.
func NewLog() (*strings.Builder, *slog.Logger) {
	var log strings.Builder
	return &log, slog.New(slog.NewTextHandler(&log, nil))
}

// Metrics returns the value of every metric by its name and labels; for a histogram, its count.
func Metrics(t testing.TB, c prometheus.Collector) map[string]float64 {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// Rows are the identifiers of rows by name. A name should have one.
type Rows map[string][]int64

// Ledger records the outcome of inserts.
type Ledger struct {
	rows         sync.Map // as in Rows: those that were acknowledged, and those that were rejected, without an identifier
	acknowledged atomic.Int64
	ended        atomic.Bool
	clients      sync.WaitGroup
}

// Load inserts rows with unique names from 16 clients until Check is called. The inserts of every
// other client are keyed: each inserts one row only, and is repeated until it succeeds.
func Load(t testing.TB, insert func(ctx context.Context, name string, keyed bool) (id int64, err error)) *Ledger {
	l := &Ledger{}
	for client := range 16 {
		keyed := client%2 == 0
		l.clients.Go(func() {
			for !l.ended.Load() {
				name := "row " + rand.Text()
				id, err := insert(t.Context(), name, keyed)
				for keyed && err != nil && !l.ended.Load() {
					id, err = insert(t.Context(), name, keyed)
				}
				if err == nil {
					l.rows.Store(name, []int64{id})
					l.acknowledged.Add(1)
				} else if !keyed && fault.KindOf(err) == fault.Unavailable { // nothing was done
					l.rows.Store(name, []int64{})
				}
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *Ledger) end() {
	l.ended.Store(true)
	l.clients.Wait()
}

// known returns what is known of each row.
func (l *Ledger) known() Rows {
	known := Rows{}
	for name, ids := range l.rows.Range {
		known[name.(string)] = ids.([]int64)
	}
	return known
}

// Read reads all rows until Check is called: what was acknowledged or read before must be in every
// later read, with the same identifier, and a rejected row in none.
func (l *Ledger) Read(t testing.TB, list func(context.Context) (Rows, error)) {
	l.clients.Go(func() {
		known := Rows{}
		for !l.ended.Load() {
			maps.Copy(known, l.known())
			if rows, err := list(t.Context()); err == nil {
				compare(t, rows, known)
				maps.Copy(known, rows)
			}
		}
	})
}

func compare(t testing.TB, rows, known Rows) {
	for name, want := range known {
		assert.True(t, slices.Equal(rows[name], want), "%s: got the identifiers %v, want %v", name, rows[name], want)
	}
}

// Wait waits until n more rows are acknowledged.
func (l *Ledger) Wait(t testing.TB, n int64) {
	want := l.acknowledged.Load() + n
	Eventually(t, fmt.Sprintf("%d more rows", n), func() bool { return l.acknowledged.Load() >= want })
}

// Check stops the clients, and checks that each acknowledged row is there once, and no rejected one.
func (l *Ledger) Check(t testing.TB, list func(context.Context) (Rows, error)) {
	l.end()
	rows, err := list(t.Context())
	require.NoError(t, err)
	compare(t, rows, l.known())
}
