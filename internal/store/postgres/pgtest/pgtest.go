//go:build linux

package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var shared = sync.OnceValues(func() (*Server, error) { return start([]string{"max_connections=300"}) })

// Main runs the tests of a package and removes all servers. Every package that
// uses pgtest must call it from TestMain.
func Main(m *testing.M) int {
	defer func() {
		for s := range servers.Range {
			s.(*Server).remove()
		}
	}()
	return m.Run()
}

// Shared returns the server that the tests of a package share.
func Shared(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("this test needs PostgreSQL (apt-get install postgresql): %v", err)
	}
	return s
}

// Database creates an empty database on the shared server and returns its address.
func Database(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	Exec(t, Shared(t).Address("postgres"), "CREATE DATABASE "+name)
	return Shared(t).Address(name) + "&connect_timeout=20" // for a busy machine
}

// Schema creates an empty schema on the shared server and returns its address, ten times
// faster than Database.
func Schema(t testing.TB) string {
	t.Helper()
	return Shared(t).schema(t)
}

func (s *Server) schema(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	Exec(t, s.Address("postgres"), "CREATE SCHEMA "+name)
	return s.Address("postgres") + "&connect_timeout=20&search_path=" + name
}

// Exec runs statements on the database at address.
func Exec(t testing.TB, address string, statements ...string) {
	t.Helper()
	connected(t, address, func(ctx context.Context, c *pgx.Conn) {
		for _, statement := range statements {
			if _, err := c.Exec(ctx, statement); err != nil {
				t.Fatalf("%s: got error %v", statement, err)
			}
		}
	})
}

// Query runs a query and returns its only value.
func Query[T any](t testing.TB, address, query string, args ...any) (value T) {
	t.Helper()
	connected(t, address, func(ctx context.Context, c *pgx.Conn) {
		if err := c.QueryRow(ctx, query, args...).Scan(&value); err != nil {
			t.Fatalf("%s: got error %v", query, err)
		}
	})
	return value
}

func connected(t testing.TB, address string, f func(context.Context, *pgx.Conn)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("connecting to the test server: got error %v", err)
	}
	defer c.Close(ctx)
	f(ctx, c)
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

// Pooler starts a PgBouncer in front of s, with transactions on three connections.
func (s *Server) Pooler(t testing.TB) *Server {
	t.Helper()
	p, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	text := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`, s.port, p.port)
	config := filepath.Join(p.dir, "ini")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.launch("pgbouncer", []string{config}, p.Address("postgres")+"&default_query_exec_mode=simple_protocol"); err != nil {
		t.Fatalf("this test needs PgBouncer (apt-get install pgbouncer): %v", err)
	}
	return p
}
