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

// Main runs the tests of a package and removes what they share. Call it in
// TestMain of every package that uses pgtest.
func Main(m *testing.M) int {
	defer func() {
		for dir, s := range servers.Range {
			s.(*Server).Kill()
			_ = os.RemoveAll(dir.(string))
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

// Database returns the address of a new, empty database on the shared server,
// made with options of CREATE DATABASE.
func Database(t testing.TB, options ...string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	Exec(t, Shared(t).Address("postgres"), "CREATE DATABASE "+name+" "+strings.Join(options, " "))
	return Shared(t).Address(name)
}

// Schema returns the address of a new, empty schema in a database that tests
// share. It takes a tenth of the time of Database.
func Schema(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	address := Shared(t).Address("postgres")
	Exec(t, address, "CREATE SCHEMA "+name)
	return address + "&search_path=" + name
}

// Exec runs statements on the database at address.
func Exec(t testing.TB, address string, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		connected(t, address, func(ctx context.Context, c *pgx.Conn) {
			if _, err := c.Exec(ctx, statement); err != nil {
				t.Fatalf("%s: got error %v", statement, err)
			}
		})
	}
}

// Query returns the one value of a query.
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

// Eventually waits until check holds, and fails the test if it does not within
// the time.
func Eventually(t testing.TB, within time.Duration, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !check(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// Pooler starts a PgBouncer with transaction pooling before s and returns its
// host and port.
func (s *Server) Pooler(t testing.TB, settings ...string) *Server {
	t.Helper()
	p, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	users, config := filepath.Join(p.dir, "users"), filepath.Join(p.dir, "ini")
	text := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 5
%s
`, s.port, p.port, users, strings.Join(settings, "\n"))
	for name, content := range map[string]string{users: `"postgres" ""`, config: text} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	console := p.Address("postgres") + "&default_query_exec_mode=simple_protocol"
	if err := p.launch("pgbouncer", []string{config}, console); err != nil {
		t.Fatalf("this test needs PgBouncer (apt-get install pgbouncer): %v", err)
	}
	return p
}
