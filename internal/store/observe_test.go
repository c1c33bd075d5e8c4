package store_test

import (
	"context"
	"reflect"
	"slices"
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

// ofCommands are the methods that only commands and the start of a server call.
var ofCommands = []string{"Snapshot", "Fill", "CreateKey", "Keys", "RevokeKey"}

// TestObserve calls the other methods that take a context, of a closed store with a
// metric of its own. The failures that requests can see exist from the start.
func TestObserve(t *testing.T) {
	closed := memory.New()
	_ = closed.Close() // never fails
	reg := prometheus.NewRegistry()
	s := reflect.ValueOf(store.Observe(failing{Store: closed, Collector: prometheus.NewGauge(prometheus.GaugeOpts{Name: "own"})}, reg))
	for _, name := range []string{"own", "store_failures_total create internal", "store_failures_total get internal", "store_failures_total list unavailable", "store_failures_total key unavailable"} {
		if n, found := gather(t, reg)[name]; !found || n != 0 {
			t.Errorf("%s: got %v, %v at the start, want 0", name, n, found)
		}
	}
	want := 0
	for m := range reflect.TypeFor[store.Store]().Methods() {
		if m.Type.NumIn() == 0 || slices.Contains(ofCommands, m.Name) { // Close and Failed have no input
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < m.Type.NumIn(); i++ {
			args = append(args, reflect.Zero(m.Type.In(i)))
		}
		s.MethodByName(m.Name).Call(args)
		want++
		calls := 0
		for name, n := range gather(t, reg) {
			if strings.HasPrefix(name, "store_call_duration_seconds ") {
				calls += int(n)
			}
		}
		if calls != want {
			t.Fatalf("after %s: got %v calls measured, want %v", m.Name, calls, want)
		}
	}
}

// failing returns err from Pet.
type failing struct {
	store.Store
	prometheus.Collector
	err error
}

func (s failing) Pet(context.Context, int64) (pets.Pet, error) { return pets.Pet{}, s.err }

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
		reg := prometheus.NewRegistry()
		_, _ = store.Observe(failing{memory.New(), prometheus.NewGauge(prometheus.GaugeOpts{Name: "own"}), err}, reg).Pet(t.Context(), 1)
		for _, kind := range []string{"unavailable", "internal"} {
			if n := gather(t, reg)["store_failures_total get "+kind]; (n == 1) != (kind == want) {
				t.Errorf("%v: got %v failures that are %s", err, n, kind)
			}
		}
	}
}

func TestObservedStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{Open: func(testing.TB) store.Store {
		return store.Observe(memory.New(), prometheus.NewRegistry())
	}})
}
