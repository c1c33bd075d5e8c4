package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

// gather returns the value of every metric by its name and labels; for a histogram, its
// count.
func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// failing has a metric of its own, and returns err from Pet.
type failing struct {
	store.Store
	prometheus.Collector
	err error
}

func (s failing) Pet(context.Context, int64) (pets.Pet, error) { return pets.Pet{}, s.err }

// observe returns an observed failing store.
func observe(err error) (store.Store, *prometheus.Registry) {
	own := prometheus.NewGauge(prometheus.GaugeOpts{Name: "own"})
	closed := memory.New()
	_ = closed.Close() // never fails
	reg := prometheus.NewRegistry()
	return store.Observe(failing{closed, own, err}, reg), reg
}

// TestObserve makes the calls of requests, which all fail. Their failures exist from the
// start.
func TestObserve(t *testing.T) {
	s, reg := observe(pets.ErrClosed)
	if before := gather(t, reg); len(before) != 1+4*2 {
		t.Errorf("got %v at the start, want the store's own, and two kinds of failures of four calls", before)
	}
	ctx := t.Context()
	_, _ = s.CreatePet(ctx, example.Pet(), pets.IdempotencyKey{})
	_, _ = s.Pet(ctx, 1)
	_, _ = s.Pets(ctx, pets.Query{Limit: 1})
	_, _ = s.Key(ctx, "")
	after := gather(t, reg)
	for _, call := range []string{"create", "get", "list", "key"} {
		calls, failures := after["store_call_duration_seconds "+call], after["store_failures_total "+call+" unavailable"]
		if calls != 1 || failures != 1 {
			t.Errorf("%s: got %v calls and %v failures, want 1 and 1", call, calls, failures)
		}
	}
}

func TestObserveFailures(t *testing.T) {
	for err, want := range map[error]string{
		nil:                                 "",
		&pets.Error{Kind: pets.Unavailable}: "unavailable",
		&pets.Error{Kind: pets.Internal}:    "internal",
		&pets.Error{Kind: pets.Invalid}:     "",
		&pets.Error{Kind: pets.NotFound}:    "",
		&pets.Error{Kind: pets.Reused}:      "",
		keys.ErrNotFound:                    "",
	} {
		s, reg := observe(err)
		_, _ = s.Pet(t.Context(), 1)
		for name, n := range gather(t, reg) {
			if strings.HasPrefix(name, "store_failures_total") && (n == 1) != (name == "store_failures_total get "+want) {
				t.Errorf("%v: got %s %v", err, name, n)
			}
		}
	}
}

func TestObservedStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{Open: func(testing.TB) store.Store {
		return store.Observe(memory.New(), prometheus.NewRegistry())
	}})
}
