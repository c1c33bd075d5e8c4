//go:build wrk && linux && citus

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/bench/peers"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// stored is the number of pets in a cluster when the load begins.
const stored = 10_000

// BenchmarkCitus compares one PostgreSQL with Citus clusters. Each node has a tenth of
// a processor. It needs root and the cgroup controller cpu at /sys/fs/cgroup/cpu.
func BenchmarkCitus(b *testing.B) {
	t := table{servers: []string{"one PostgreSQL", "Citus, 1 worker", "2 workers", "3 workers"}}
	var clusters [][]*postgres.Store
	for workers := range t.servers {
		clusters = append(clusters, startCluster(b, workers))
	}
	for _, o := range []struct {
		name string
		do   func(ctx context.Context, s *postgres.Store) error
	}{
		{"create", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.CreatePet(ctx, newPet(""))
			return err
		}},
		{"create with a key", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.CreatePet(ctx, newPet("bench"))
			return err
		}},
		{"get", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Pet(ctx, 1+rand.Int64N(stored))
			return err
		}},
		{"list", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Pets(ctx, pets.Query{After: rand.Int64N(stored), Limit: 20})
			return err
		}},
	} {
		for range *rounds {
			for i, stores := range clusters {
				t.add(o.name, t.servers[i], load(b, stores, o.do))
			}
		}
	}
	t.write(b, "citus")
}

// newPet returns a random pet, with an idempotency key unless keyID is empty.
func newPet(keyID string) pets.NewPet {
	p := peers.RandomPet(rand.New(rand.NewPCG(rand.Uint64(), 0)))
	n := pets.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: pets.Status(p.Status)}
	if keyID != "" {
		n.Idempotency = pets.Idempotency{KeyID: keyID, Key: strconv.FormatUint(rand.Uint64(), 36)}
	}
	return n
}

// startCluster starts a cluster, distributes its tables as deploy/postgres.md says, adds
// pets, and then limits its nodes. It returns a store for each node.
func startCluster(b *testing.B, workers int) (stores []*postgres.Store) {
	open := func(address string) *postgres.Store {
		s, err := postgres.Open(b.Context(), address+"&connect_timeout=20", postgres.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	nodes := []*pgtest.Server{pgtest.Start(b)}
	address := nodes[0].Address("postgres")
	if workers > 0 {
		nodes = pgtest.Cluster(b, workers)
		address = nodes[0].Distributed(b, func(address string) { open(address) })
	}
	for _, n := range nodes {
		stores = append(stores, open(strings.Replace(address, nodes[0].Host(), n.Host(), 1)))
	}
	_, err := stores[0].Load(b.Context(), func(yield func(pets.NewPet, error) bool) {
		for n := 0; n < stored && yield(newPet(""), nil); n++ {
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	load(b, stores, func(ctx context.Context, s *postgres.Store) error { // opens all connections
		_, err := s.CreatePet(ctx, newPet(""))
		return errors.Join(err, s.Ping(ctx))
	})
	for i, n := range nodes {
		limit(b, n, fmt.Sprintf("/sys/fs/cgroup/cpu/petstore-bench-%d-%d-%d", os.Getpid(), workers, i))
	}
	return stores
}

// limit moves the processes of a node to a new cgroup.
func limit(b *testing.B, node *pgtest.Server, dir string) {
	pid := strconv.Itoa(node.PID())
	children, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	write := func(name, value string) {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644))
	}
	err = errors.Join(err, os.Mkdir(dir, 0o755))
	write("cpu.cfs_period_us", "20000")
	write("cpu.cfs_quota_us", "2000")
	write("cpu.shares", "100000") // before the other programs of the machine
	for _, pid := range append(strings.Fields(string(children)), pid) {
		write("cgroup.procs", pid)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { node.Kill(); _ = os.Remove(dir) })
}

// load has 16 clients call do for four seconds, with each store in turn. It returns how
// many calls succeeded per second in the last three.
func load(b *testing.B, stores []*postgres.Store, do func(context.Context, *postgres.Store) error) float64 {
	var n atomic.Int64
	var g errgroup.Group
	counted := time.Now().Add(time.Second)
	end := counted.Add(3 * time.Second)
	for client := range 16 {
		g.Go(func() (err error) {
			for now := time.Now(); err == nil && now.Before(end); now = time.Now() {
				if err = do(b.Context(), stores[client%len(stores)]); now.After(counted) {
					n.Add(1)
				}
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return float64(n.Load()) / 3
}
