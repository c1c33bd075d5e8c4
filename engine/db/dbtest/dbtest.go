// Package dbtest has what the tests of databases and of stores in them share.
package dbtest

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/engine/fault"
)

// patience is how long a test waits for what will happen, also on a busy machine.
const patience = 2 * time.Minute

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantKind checks that err is an error of a kind.
func WantKind(t testing.TB, what string, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != want {
		t.Errorf("%s: got error %v (%v), want %v", what, err, fault.KindOf(err), want)
	}
}

// WantError checks that the text of err contains want, or that err is nil if want is empty.
func WantError(t testing.TB, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%s: got error %v, want %q in it", what, err, want)
	}
}

// Eventually waits until check returns true.
func Eventually(t testing.TB, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !check(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// NewLog returns a logger, and what it writes.
func NewLog() (*strings.Builder, *slog.Logger) {
	var log strings.Builder
	return &log, slog.New(slog.NewTextHandler(&log, nil))
}

// Metrics returns the value of every metric by its name and labels; for a histogram, its count.
func Metrics(t testing.TB, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	Must(t, err)
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
