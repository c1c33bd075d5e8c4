package store_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
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

// failing is a closed store with a metric of its own, which returns err from Pet.
type failing struct {
	store.Store
	prometheus.Collector
	err error
}

func (s failing) Pet(context.Context, int64) (pets.Pet, error) { return pets.Pet{}, s.err }

// TestObserve makes each call of requests, which fail but perhaps Pet.
func TestObserve(t *testing.T) {
	for err, kind := range map[error]string{
		nil:                                       "",
		fault.New(fault.Unavailable, ""):          "unavailable",
		fault.New(fault.Internal, ""):             "internal",
		fault.New(fault.InvalidBody, ""):          "",
		fault.New(fault.NotFound, ""):             "",
		fault.New(fault.IdempotencyKeyReused, ""): "",
		keys.ErrNotFound:                          "",
	} {
		closed, reg := memory.New(), prometheus.NewRegistry()
		_ = closed.Close() // never fails
		own := prometheus.NewGauge(prometheus.GaugeOpts{Name: "own"})
		s := store.Observe(failing{closed, own, err}, reg)
		want := map[string]float64{"own": 0} // failures exist from the start
		for _, call := range []string{"create", "get", "list", "key"} {
			want["store_failures_total "+call+" internal"] = 0
			want["store_failures_total "+call+" unavailable"] = 0
		}
		if got := gather(t, reg); !maps.Equal(got, want) {
			t.Errorf("at the start: got %v, want %v", got, want)
		}
		_, _ = s.CreatePet(t.Context(), example.Pet(), pets.IdempotencyKey{})
		_, _ = s.Pet(t.Context(), 1)
		_, _ = s.Pets(t.Context(), pets.Query{Limit: 1})
		_, _ = s.Key(t.Context(), "")
		for call, kind := range map[string]string{"create": "unavailable", "get": kind, "list": "unavailable", "key": "unavailable"} {
			want["store_call_duration_seconds "+call] = 1
			if kind != "" {
				want["store_failures_total "+call+" "+kind] = 1
			}
		}
		if got := gather(t, reg); !maps.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}

// TestMeasured calls each method of pets.Store that requests call, and checks that it is
// measured.
func TestMeasured(t *testing.T) {
	others := []string{"Close", "Failed", "ForgetIdempotencyKeys", "Ping"}
	methods := reflect.TypeFor[pets.Store]()
	for i := range methods.NumMethod() {
		m, reg := methods.Method(i), prometheus.NewRegistry()
		if slices.Contains(others, m.Name) {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for j := 1; j < m.Type.NumIn(); j++ {
			args = append(args, reflect.Zero(m.Type.In(j)))
		}
		reflect.ValueOf(store.Observe(memory.New(), reg)).MethodByName(m.Name).Call(args)
		calls := 0.0
		for name, n := range gather(t, reg) {
			if strings.HasPrefix(name, "store_call_duration_seconds") {
				calls += n
			}
		}
		if calls != 1 {
			t.Errorf("%s: got %v measured calls, want 1", m.Name, calls)
		}
	}
}

func TestObservedStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{Open: func(testing.TB) store.Store {
		return store.Observe(memory.New(), prometheus.NewRegistry())
	}})
}
