package store_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

// gather returns the value of every metric; for a histogram, its count.
func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatalf("Gather: got error %v", err)
	}
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

// TestObserveEveryMethod calls each method that takes a context.
func TestObserveEveryMethod(t *testing.T) {
	closed := memory.New()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	s := reflect.ValueOf(store.Observe(closed, reg))
	methods := reflect.TypeFor[store.Store]()
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if m.Type.NumIn() == 0 { // Close and Failed
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < m.Type.NumIn(); i++ {
			arg := reflect.Zero(m.Type.In(i))
			if arg.Kind() == reflect.Func {
				arg = reflect.MakeFunc(arg.Type(), func([]reflect.Value) []reflect.Value { return nil })
			}
			args = append(args, arg)
		}
		before := calls(t, reg)
		s.MethodByName(m.Name).Call(args)
		if got := calls(t, reg) - before; got != 1 {
			t.Errorf("%s: got %v calls measured, want 1", m.Name, got)
		}
	}
}

// calls returns the number of measured calls.
func calls(t *testing.T, reg *prometheus.Registry) (n float64) {
	for name, v := range gather(t, reg) {
		if strings.HasPrefix(name, "store_call_duration_seconds ") {
			n += v
		}
	}
	return n
}

// brokenStore returns err from Pet and Key, and has a metric of its own.
type brokenStore struct {
	store.Store
	prometheus.Collector
	err error
}

func (s brokenStore) Pet(context.Context, int64) (pets.Pet, error)  { return pets.Pet{}, s.err }
func (s brokenStore) Key(context.Context, string) (keys.Key, error) { return keys.Key{}, s.err }

func TestObserveFailures(t *testing.T) {
	for err, want := range map[error]map[pets.Kind]float64{
		nil:                                 {},
		&pets.Error{Kind: pets.Unavailable}: {pets.Unavailable: 1},
		&pets.Error{Kind: pets.Internal}:    {pets.Internal: 1},
		&pets.Error{Kind: pets.Invalid}:     {},
		&pets.Error{Kind: pets.NotFound}:    {},
		&pets.Error{Kind: pets.Reused}:      {},
		keys.ErrNotFound:                    {},
	} {
		reg := prometheus.NewRegistry()
		own := prometheus.NewGauge(prometheus.GaugeOpts{Name: "own"})
		s := store.Observe(brokenStore{memory.New(), own, err}, reg)
		_, _ = s.Pet(t.Context(), 1)
		_, _ = s.Key(t.Context(), "")
		got := gather(t, reg)
		for _, call := range []string{"create", "get", "list", "key"} { // of requests: each exists from the start
			for _, kind := range []pets.Kind{pets.Unavailable, pets.Internal} {
				want := want[kind]
				if call == "create" || call == "list" {
					want = 0
				}
				if n, found := got[fmt.Sprintf("store_failures_total %s %v", call, kind)]; !found || n != want {
					t.Errorf("%s fails with %v: got %v failures with %v (found %v), want %v", call, err, n, kind, found, want)
				}
			}
		}
		failures := 0.0
		for name, n := range got {
			if strings.HasPrefix(name, "store_failures_total ") {
				failures += n
			}
		}
		if _, found := got["own"]; !found || failures != float64(2*len(want)) {
			t.Errorf("%v: got %v failures, want %d and the store's own metric: %v", err, failures, 2*len(want), got)
		}
	}
}

func TestObservedStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{Open: func(testing.TB) store.Store {
		return store.Observe(memory.New(), prometheus.NewRegistry())
	}})
}
