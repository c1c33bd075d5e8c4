//go:build postgres && citus

package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/db/postgres/pgtest"
	"example.com/petstore/engine/fault"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

// newCluster starts a Citus cluster. Its first node is the coordinator. The tests that use one run
// one after the other, since a cluster keeps a machine busy.
func newCluster(t testing.TB, workers int) (nodes []*pgtest.Server) {
	for range 1 + workers {
		nodes = append(nodes, pgtest.Start(t, "--shared_preload_libraries=citus", "--max_prepared_transactions=600",
			"--max_worker_processes=100", "--citus.recover_2pc_interval=1s", "--citus.max_adaptive_executor_pool_size=1"))
	}
	return nodes
}

// distributing is held by distributed: citus_add_node fails if another database adds a node.
var distributing sync.Mutex

// distributed creates a database on all nodes, distributes the tables that open creates, and returns its address.
func distributed(t testing.TB, nodes []*pgtest.Server, open func(address string)) string {
	distributing.Lock()
	defer distributing.Unlock()
	name := "test_" + strings.ToLower(rand.Text())
	coordinator, add := nodes[0].Address(name), "citus_set_coordinator_host"
	for _, s := range nodes {
		host, port, _ := strings.Cut(s.Host(), ":")
		pgtest.Exec(t, s.Address("postgres"), "CREATE DATABASE "+name)
		pgtest.Exec(t, s.Address(name), "CREATE EXTENSION citus")
		pgtest.Exec(t, coordinator, fmt.Sprintf("SELECT %s('%s', %s)", add, host, port))
		add = "citus_add_node"
	}
	open(coordinator)
	pgtest.Exec(t, coordinator, sqlOnPage(t, "citus.md", "create_distributed_table")...)
	return coordinator
}

// emptyStore returns the address of an empty store on the nodes of a cluster.
func emptyStore(t testing.TB, nodes []*pgtest.Server) string {
	return distributed(t, nodes, func(address string) { mustOpen(t, address) })
}

func TestCitus(t *testing.T) {
	nodes := newCluster(t, 2)
	f := factory(func(t testing.TB) string { return emptyStore(t, nodes) })
	f.Remove = nil // a removed pet looks like one whose commit is in progress: the outcome stays unknown
	storetest.Run(t, f)
}

// TestCitusPage distributes stored pets while a store is open, and opens another on a worker.
func TestCitusPage(t *testing.T) {
	var s store.Store
	var first pets.Pet
	nodes := newCluster(t, 2)
	address := distributed(t, nodes, func(address string) {
		s = mustOpen(t, address)
		storetest.Fill(t, s, 999)
		first = mustCreate(t, s, once)
	})
	assert.Equal(t, first, mustCreate(t, s, once), "the same again")
	assert.Equal(t, 1000, pgtest.Query[int](t, address, "SELECT count(*) FROM petstore.pets"))
	other := pets.IdempotencyKey{KeyID: once.KeyID, Key: "k2"}
	made := mustCreate(t, mustOpen(t, strings.Replace(address, nodes[0].Host(), nodes[1].Host(), 1)), other)
	assert.EqualValues(t, 1<<48+1, made.ID, "created on a worker")
	assert.Equal(t, made, mustCreate(t, s, other), "again on the coordinator")
	n, err := s.ForgetIdempotencyKeys(t.Context(), -time.Hour)
	assert.NoError(t, err)
	assert.Equal(t, 2, n, "forgotten keys")
	assert.NotEqual(t, first, mustCreate(t, s, once), "after its key was forgotten")
}

// TestCitusKill kills each node of a cluster under load.
func TestCitusKill(t *testing.T) {
	nodes := newCluster(t, 2)
	address := emptyStore(t, nodes)
	s := mustOpen(t, address)
	l := dbtest.Load(t, func(ctx context.Context, name string, keyed bool) (int64, error) {
		key := pets.IdempotencyKey{}
		if keyed {
			key = pets.IdempotencyKey{KeyID: "mine", Key: name}
		}
		made, err := s.CreatePet(ctx, example.Named(name), key)
		return made.ID, err
	})
	for range 2 {
		for _, node := range nodes {
			l.Wait(t, 300)
			node.Kill()
			node.Run(t)
		}
	}
	l.Wait(t, 300)
	l.Check(t, func(context.Context) (dbtest.Rows, error) {
		return pgtest.Query[dbtest.Rows](t, address, "SELECT json_object_agg(name, ids) FROM (SELECT "+textColumn+
			" AS name, array_agg(id) AS ids FROM petstore.pets GROUP BY name) AS rows"), nil
	})
}

// TestCitusSync cancels the wait for a worker's standby: no create may succeed.
func TestCitusSync(t *testing.T) {
	nodes := newCluster(t, 1)
	worker := nodes[1]
	s := mustOpen(t, emptyStore(t, nodes))
	worker.Configure(t, "synchronous_standby_names", "absent")
	for _, key := range []string{"", "k1"} {
		done := make(chan error, 1)
		go func() { done <- create(t.Context(), s, pets.IdempotencyKey{Key: key}) }()
		dbtest.Eventually(t, "an answer", func() bool {
			pgtest.Exec(t, worker.Address("postgres"), "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			return len(done) > 0
		})
		dbtest.WantKind(t, fmt.Sprintf("CreatePet with key %q", key), <-done, fault.Internal)
	}
}
