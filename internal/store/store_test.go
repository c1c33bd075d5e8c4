package store_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

// failing is a store with a metric of its own, which returns err from Pet.
type failing struct {
	store.Store
	prometheus.Collector
	err error
}

func (s failing) Pet(context.Context, int64) (pets.Pet, error) { return pets.Pet{}, s.err }

// TestObserve checks that each call of a request is measured, and which errors are failures of the
// store, whose counters exist from the start.
func TestObserve(t *testing.T) {
	for err, kind := range map[error]string{
		nil: "", keys.ErrNotFound: "", fault.New(fault.InvalidBody, ""): "",
		fault.New(fault.Unavailable, ""): "unavailable", fault.New(fault.Internal, ""): "internal", io.EOF: "internal",
	} {
		reg, own := prometheus.NewRegistry(), prometheus.NewGauge(prometheus.GaugeOpts{Name: "own"})
		s := store.Observe(failing{memory.New(), own, err}, reg)
		calls := float64(len(storetest.Fixture{}.EveryMethod(t.Context(), t, s)))
		got, want := dbtest.Metrics(t, reg), map[string]float64{"own": 0}
		for name, n := range got {
			if call, ok := strings.CutPrefix(name, "store_call_duration_seconds "); ok {
				want[name], calls = n, calls-n
				want["store_failures_total "+call+" unavailable"], want["store_failures_total "+call+" internal"] = 0, 0
			}
		}
		if kind != "" {
			want["store_failures_total get "+kind] = 1
		}
		assert.Equal(t, want, got, "metrics after %v", err)
		assert.EqualValues(t, 6, calls, "not measured: Ping, ForgetIdempotencyKeys, CreateKey, Keys, RevokeKey, RecordKeyUse")
	}
}

// forgetting is a store that has a result for each batch: how many keys were forgotten, or an error after one.
type forgetting struct {
	store.Store
	results []any
	calls   []string // their times of day
}

func (f *forgetting) ForgetIdempotencyKeys(_ context.Context, age time.Duration) (int, error) {
	f.calls = append(f.calls, fmt.Sprint(age, " at ", time.Now().UTC().Format(time.TimeOnly)))
	result := f.results[len(f.calls)-1]
	if err, failed := result.(error); failed {
		return 1, err
	}
	return result.(int), nil
}

func TestForgetIdempotencyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour-1)
		defer cancel()
		s := &forgetting{Store: memory.New(), results: []any{1000, 1, 0, 1000, io.EOF, io.EOF, 0}}
		log, logger := dbtest.NewLog()
		store.Background(ctx, s, logger)
		var want []string
		for _, hour := range []int{1, 1, 1, 2, 2, 3, 4} { // a bubble begins at midnight
			want = append(want, fmt.Sprintf("168h0m0s at 0%d:00:00", hour))
		}
		assert.Equal(t, want, s.calls, "calls")
		logged := regexp.MustCompile(`WARN|keys=\d+`).FindAllString(log.String(), -1)
		assert.Equal(t, []string{"keys=1001", "keys=1001", "WARN", "keys=1", "WARN"}, logged, "log")
	})
}

func TestAddress(t *testing.T) {
	for _, text := range []string{
		"", ":", "memory", "memory:x", "Memory:", "sqlite", "SQLITE:x", "pets.db", "/tmp/pets.db", "mysql:x", " sqlite:x",
		"host=db user=pets password=SECRET", "postgres:SECRET", "postgresql:SECRET", "postgres:/pets:SECRET@db/pets",
		"postgres//pets:SECRET@db/pets", "POSTGRES://pets:SECRET@db/pets", " postgres://pets:SECRET@db/pets",
		"mysql://pets:SECRET@db/pets", "pets:SECRET@db", "pets:SECRET", "password=SECRET",
		"sqlite:postgres://pets:SECRET@db/pets", "sqlite:postgres:/pets:SECRET@db", "sqlite:pets:SECRET@db",
		"sqlite:host=db password=SECRET", "sqlite:Password = 'SECRET'",
		"sqlite:SECRET\n", "sqlite:\u0085SECRET", "postgres://pets:SECRET@db/pets\r", "memory:\n",
	} {
		var a address.Address
		err := a.Set(text)
		assert.Error(t, err, "Set(%q)", text)
		assert.NotContains(t, fmt.Sprint(err), "SECRET", "Set(%q)", text)
		assert.Empty(t, a.Name, "Set(%q)", text)
	}
	for _, k := range address.Kinds {
		var a address.Address
		assert.NoError(t, a.Set(k.Default), "Set(%q)", k.Default)
		assert.Equal(t, k.Name, a.Name, "Set(%q)", k.Default)
		assert.Equal(t, k.Default, a.String(), "the address of %s", k.Name)
		assert.Equal(t, k.Path != nil, a.Path() != "", "%s is a file", k.Name)
	}
}
