//go:build linux

package pgtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Cluster starts a Citus cluster. Its first node is the coordinator.
func Cluster(t testing.TB, workers int) (nodes []*Server) {
	t.Helper()
	add := "citus_set_coordinator_host"
	for range 1 + workers {
		s := Start(t, "shared_preload_libraries=citus", "max_connections=300", "max_prepared_transactions=600", "citus.recover_2pc_interval=1s", "citus.max_adaptive_executor_pool_size=1")
		nodes = append(nodes, s)
		Exec(t, s.Address("postgres"), "CREATE EXTENSION citus")
		Exec(t, nodes[0].Address("postgres"), fmt.Sprintf("SELECT %s('127.0.0.1', %d)", add, s.port))
		add = "citus_add_node"
	}
	return nodes
}

// Distributed creates a schema on the coordinator of a cluster, has open create the
// tables, distributes them, and returns the address.
func (s *Server) Distributed(t testing.TB, open func(address string)) string {
	t.Helper()
	address := s.schema(t)
	open(address)
	Exec(t, address, Page(t, "create_distributed_table")...)
	return address
}

// Page returns the statements of the block of SQL in deploy/postgres.md that
// contains a word, for tests three folders below the top.
func Page(t testing.TB, word string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range strings.Split(string(text), "```sql\n")[1:] {
		if block, _, _ := strings.Cut(after, "```"); strings.Contains(block, word) {
			return strings.SplitAfter(strings.TrimSpace(block), ";\n")
		}
	}
	t.Fatalf("deploy/postgres.md has no block of SQL with %s", word)
	return nil
}
