package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

// brokenStore returns err from every measured call, and stats from Stats.
type brokenStore struct {
	pets.Store
	err   error
	stats pets.Stats
}

func (s brokenStore) CreatePet(context.Context, pets.NewPet) (pets.Pet, error) {
	return pets.Pet{}, s.err
}

func (s brokenStore) Pet(context.Context, int64) (pets.Pet, error) { return pets.Pet{}, s.err }

func (s brokenStore) Pets(context.Context, pets.Query) (pets.Page, error) { return pets.Page{}, s.err }

func (s brokenStore) Key(context.Context, string) (pets.Key, error) { return pets.Key{}, s.err }
func (s brokenStore) Stats(context.Context) pets.Stats              { return s.stats }

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
			name := strings.TrimPrefix(f.GetName(), "petstore_")
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestObserveCalls(t *testing.T) {
	for kind, counted := range map[pets.Kind]bool{
		pets.Unavailable: true, pets.Internal: true, pets.Invalid: false, pets.NotFound: false, pets.Reused: false,
	} {
		reg := prometheus.NewRegistry()
		s := store.Observe(brokenStore{err: &pets.Error{Kind: kind}}, "memory", reg)
		_, _ = s.CreatePet(t.Context(), pets.NewPet{})
		_, _ = s.Pet(t.Context(), 1)
		_, _ = s.Pets(t.Context(), pets.Query{})
		_, _ = s.Key(t.Context(), "")
		got := gather(t, reg)
		for _, call := range []string{"create", "get", "list", "key"} {
			if n := got["store_call_duration_seconds "+call]; n != 1 {
				t.Errorf("%s: got %v calls, want 1", call, n)
			}
			for _, k := range []pets.Kind{pets.Unavailable, pets.Internal} { // both exist from the start
				want := 0.0
				if counted && k == kind {
					want = 1
				}
				if n, found := got[fmt.Sprintf("store_failures_total %s %v", call, k)]; !found || n != want {
					t.Errorf("%s fails with %v: got %v failures with %v (found %v), want %v", call, kind, n, k, found, want)
				}
			}
		}
		if want := 4 + 8; len(got) != want {
			t.Errorf("got %d metrics, want %d: %v", len(got), want, got)
		}
	}
}

func TestObserveStats(t *testing.T) {
	stats := pets.Stats{
		LogBytes: 1, Commits: 2, Writes: 3, Corruptions: 4, DiskFull: true, LastBackup: time.Unix(6, 0),
		SyncStandbys: -1, Connections: 7, InUse: 8, Replaced: 9,
	}
	for kind, want := range map[string]map[string]float64{
		"sqlite": {
			"sqlite_wal_bytes": 1, "sqlite_commits_total": 2, "sqlite_writes_total": 3, "sqlite_corruptions_total": 4,
			"sqlite_disk_full": 1, "last_backup_timestamp_seconds": 6,
		},
		"postgres": {
			"postgres_sync_standbys": -1, "postgres_connections": 7, "postgres_connections_in_use": 8, "postgres_pools_replaced_total": 9,
		},
	} {
		reg := prometheus.NewRegistry()
		store.Observe(brokenStore{stats: stats}, kind, reg)
		got := gather(t, reg)
		for name, v := range want {
			if g, found := got[name]; !found || g != v {
				t.Errorf("%s: got %v (found %v), want %v", name, g, found, v)
			}
		}
		if want := 4 + 8 + len(want); len(got) != want {
			t.Errorf("%s: got %d metrics, want %d: %v", kind, len(got), want, got)
		}
	}
	reg := prometheus.NewRegistry()
	store.Observe(brokenStore{}, "sqlite", reg)
	if v, found := gather(t, reg)["last_backup_timestamp_seconds"]; found {
		t.Errorf("without a backup: got %v, want no metric", v)
	}
}

func TestObservedStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{Open: func(testing.TB) pets.Store {
		return store.Observe(memory.New(), "memory", prometheus.NewRegistry())
	}})
}
