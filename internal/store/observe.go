package store

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/pets"
)

// Observe wraps s to measure the calls that requests make. It registers these
// metrics with reg, and those of the store if it is a prometheus.Collector.
func Observe(s Store, reg prometheus.Registerer) Store {
	o := &observed{
		Store: s,
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "store_call_duration_seconds", Help: "Duration of store calls.",
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 8},
		}, []string{"call"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "store_failures_total", Help: "Failed store calls, by kind of error.",
		}, []string{"call", "kind"}),
	}
	for _, call := range []string{"create", "get", "list", "key"} {
		for _, kind := range []fault.Kind{fault.Unavailable, fault.Internal} {
			o.failures.WithLabelValues(call, kind.Code)
		}
	}
	reg.MustRegister(o.durations, o.failures)
	if c, ok := s.(prometheus.Collector); ok {
		reg.MustRegister(c)
	}
	return o
}

type observed struct {
	Store
	durations *prometheus.HistogramVec
	failures  *prometheus.CounterVec
}

// done records a call. It counts failures of the store, not errors of the caller.
func (o *observed) done(call string, start time.Time, err *error) {
	o.durations.WithLabelValues(call).Observe(time.Since(start).Seconds())
	if *err != nil && !fault.ByCaller(*err) {
		o.failures.WithLabelValues(call, fault.KindOf(*err).Code).Inc()
	}
}

func (o *observed) CreatePet(ctx context.Context, p pets.NewPet, key pets.IdempotencyKey) (pet pets.Pet, err error) {
	defer o.done("create", time.Now(), &err)
	return o.Store.CreatePet(ctx, p, key)
}

func (o *observed) Pet(ctx context.Context, id int64) (pet pets.Pet, err error) {
	defer o.done("get", time.Now(), &err)
	return o.Store.Pet(ctx, id)
}

func (o *observed) Pets(ctx context.Context, q pets.ListQuery) (page pets.ListPage, err error) {
	defer o.done("list", time.Now(), &err)
	return o.Store.Pets(ctx, q)
}

func (o *observed) Key(ctx context.Context, id string) (k keys.Key, err error) {
	defer o.done("key", time.Now(), &err)
	return o.Store.Key(ctx, id)
}
