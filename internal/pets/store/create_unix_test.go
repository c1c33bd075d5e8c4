//go:build unix

package store_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store"
)

// BenchmarkCreate compares the processor time of a create by 32 callers in
// memory and on SQLite, and prints how many creates shared a commit.
func BenchmarkCreate(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		b.Run(kind, func(b *testing.B) {
			address := store.Memory
			if kind == "sqlite" {
				address = "sqlite:" + filepath.Join(b.TempDir(), "pets.db")
			}
			s, err := store.Open(b.Context(), address)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var created atomic.Int64
			var callers sync.WaitGroup
			before := processorTime(b)
			for range 32 {
				callers.Go(func() {
					for created.Add(1) <= int64(b.N) {
						p := pets.NewPet{Name: "Frank", CategoryID: 7, Status: pets.Available}
						if _, err := s.CreatePet(b.Context(), p); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			callers.Wait()
			b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N)/1000, "processor-µs/op")
			if r, ok := s.(pets.StatsReporter); ok {
				stats := r.Stats(b.Context())
				b.ReportMetric(float64(stats.Writes)/float64(stats.Commits), "creates/commit")
			}
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
