//go:build linux

package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Main runs the tests of a package. Every package that uses pgtest must call it from TestMain.
func Main(m *testing.M) int {
	if _, err := exec.LookPath("initdb"); err != nil { // else the release in PATH is tested
		debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		_ = os.Setenv("PATH", strings.Join(append(debian, os.Getenv("PATH"), "/usr/sbin"), ":"))
	}
	defer func() {
		for _, s := range []*Server{shared, template} {
			if s != nil {
				s.remove()
			}
		}
	}()
	return m.Run()
}

// Database creates an empty database on the shared server and returns its address.
func Database(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	Exec(t, Shared(t).Address("postgres"), "CREATE DATABASE "+name)
	return Shared(t).Address(name) + "&connect_timeout=20" // for a busy machine
}

// Exec runs statements on the database at address.
func Exec(t testing.TB, address string, statements ...string) {
	t.Helper()
	err := connected(address, 30*time.Second, func(ctx context.Context, c *pgx.Conn) error {
		for _, statement := range statements {
			if _, err := c.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Query runs a query and returns its only value.
func Query[T any](t testing.TB, address, query string, args ...any) (value T) {
	t.Helper()
	err := connected(address, 30*time.Second, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, query, args...).Scan(&value)
	})
	if err != nil {
		t.Fatalf("%s: got error %v", query, err)
	}
	return value
}

// connected calls f with a connection to the database at address.
func connected(address string, within time.Duration, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return f(ctx, c)
}

// Eventually waits until check returns true. It fails the test if that takes
// longer than within.
func Eventually(t testing.TB, within time.Duration, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !check(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// Cluster starts a Citus cluster. Its first node is the coordinator.
func Cluster(t testing.TB, workers int) (nodes []*Server) {
	t.Helper()
	for range 1 + workers {
		nodes = append(nodes, Start(t, "shared_preload_libraries=citus", "max_connections=300", "max_prepared_transactions=600", "max_worker_processes=100", "citus.recover_2pc_interval=1s", "citus.max_adaptive_executor_pool_size=1"))
	}
	return nodes
}

// Distributed creates a database on the nodes of a cluster, has open create the tables,
// distributes them, and returns its address on the coordinator.
func Distributed(t testing.TB, nodes []*Server, open func(address string)) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	coordinator := nodes[0].Address(name)
	add := "citus_set_coordinator_host"
	for _, s := range nodes {
		Exec(t, s.Address("postgres"), "CREATE DATABASE "+name)
		Exec(t, s.Address(name), "CREATE EXTENSION citus")
		Exec(t, coordinator, fmt.Sprintf("SELECT %s('127.0.0.1', %d)", add, s.port))
		add = "citus_add_node"
	}
	open(coordinator)
	Exec(t, coordinator, Page(t, "create_distributed_table")...)
	return coordinator
}

// Page returns the statements of the block of SQL in deploy/postgres/README.md that
// contains a word, for tests three folders below the top.
func Page(t testing.TB, word string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/postgres/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range strings.Split(string(text), "```sql\n")[1:] {
		if block, _, _ := strings.Cut(after, "```"); strings.Contains(block, word) {
			return strings.SplitAfter(strings.TrimSpace(block), ";\n")
		}
	}
	t.Fatalf("deploy/postgres/README.md has no block of SQL with %s", word)
	return nil
}

// EndSync waits until processes of the server at address wait for a standby, and ends their
// waits by a function, such as pg_cancel_backend.
func EndSync(t testing.TB, address, function string) {
	t.Helper()
	Eventually(t, RequestTimeout, "a wait for the standby", func() bool { return EndedSync(t, address, function) })
}

// EndedSync ends the waits for a standby, and reports whether there was one.
func EndedSync(t testing.TB, address, function string) bool {
	t.Helper()
	return Query[int](t, address, "SELECT count(*) FROM (SELECT "+function+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' OFFSET 0) ended") > 0
}
