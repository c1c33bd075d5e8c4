//go:build linux

// Package pgtest runs throwaway PostgreSQL and PgBouncer servers for tests, using the programs
// installed on this machine. A test that lacks them fails.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db/dbtest"
)

// Server is a server on a port of its own. It is removed when the test ends.
type Server struct {
	dir      string
	port     int
	settings []string
	cmd      *exec.Cmd
	done     chan error // has the result of a process that has ended
}

// init adds the programs of Debian's packages to PATH, unless a release is there.
func init() {
	if _, err := exec.LookPath("initdb"); err != nil {
		debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		_ = os.Setenv("PATH", strings.Join(append(debian, os.Getenv("PATH"), "/usr/sbin"), ":"))
	}
}

// Start starts an empty server with settings such as --fsync=off.
func Start(t testing.TB, settings ...string) *Server {
	s := newServer(t)
	s.settings = settings
	s.tool(t, "initdb", "-D", "data", "-N", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--wal-segsize=1", "--no-instructions")
	s.Run(t)
	return s
}

// Pair starts a primary and a synchronous standby.
func Pair(t testing.TB) (primary, standby *Server) {
	primary = Start(t)
	standby = primary.Standby(t)
	primary.Configure(t, "synchronous_standby_names", "standby")
	dbtest.Eventually(t, "a synchronous standby", func() bool {
		return Query[bool](t, primary.Address("postgres"), "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
	})
	return primary, standby
}

// Standby starts a standby of s.
func (s *Server) Standby(t testing.TB) *Server {
	standby := newServer(t)
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=standby", s.port)
	standby.tool(t, "pg_basebackup", "-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", from)
	standby.Run(t)
	return standby
}

// Pooler starts a PgBouncer in front of s, with transactions on three connections.
func (s *Server) Pooler(t testing.TB) *Server {
	p := newServer(t)
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
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "ini"), []byte(text), 0o644))
	p.launch(t, p.Address("postgres")+"&default_query_exec_mode=simple_protocol", "pgbouncer", "ini")
	return p
}

func newServer(t testing.TB) *Server {
	s := &Server{}
	s.dir = s.tool(t, "mktemp", "-d", "-t", "pgtest-XXXXXX")
	t.Cleanup(func() { s.Kill(); _ = os.RemoveAll(s.dir) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s.port = l.Addr().(*net.TCPAddr).Port
	return s
}

// command returns a command that ends with the test binary. For root, it runs as the user postgres.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if u, err := user.Lookup("postgres"); os.Getuid() == 0 && err == nil {
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd
}

// tool runs a program and returns its output.
func (s *Server) tool(t testing.TB, program string, args ...string) string {
	out, err := s.command(program, args...).CombinedOutput()
	require.NoError(t, err, "%s, of Debian's package postgresql: %s", program, out)
	return strings.TrimSpace(string(out))
}

// Run starts the server, perhaps again, and waits until it accepts connections.
func (s *Server) Run(t testing.TB) {
	args := []string{
		"-D", "data", "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", s.dir, "--log_min_messages=fatal",
		"--max_connections=300", "--shared_buffers=32MB", "--wal_retrieve_retry_interval=100ms",
	}
	s.launch(t, s.Address("postgres"), "postgres", append(args, s.settings...)...)
}

// launch starts a program, again if it ends, and returns once it accepts connections at address.
func (s *Server) launch(t testing.TB, address, program string, args ...string) {
	dbtest.Eventually(t, program+" that accepts connections", func() bool {
		if s.ended() {
			cmd, done := s.command(program, args...), make(chan error, 1)
			cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
			require.NoError(t, cmd.Start(), "of Debian's packages postgresql and pgbouncer")
			s.cmd, s.done = cmd, done
			go func() { done <- cmd.Wait() }()
		}
		return connected(address, func(context.Context, *pgx.Conn) error { return nil }) == nil
	})
}

func (s *Server) ended() bool { return s.cmd == nil || len(s.done) > 0 }

// Host returns the server's host and port.
func (s *Server) Host() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// Address returns the address of a database on the server.
func (s *Server) Address(database string) string {
	return "postgres://postgres@" + s.Host() + "/" + database + "?sslmode=disable"
}

// signal sends a signal to all processes of the server, of which the first starts no more.
func (s *Server) signal(signal syscall.Signal) {
	pid := s.cmd.Process.Pid
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(children)) {
		n, _ := strconv.Atoi(child)
		_ = syscall.Kill(n, signal)
	}
	_ = syscall.Kill(pid, signal)
}

// Kill kills all processes of the server at once, like a power cut.
func (s *Server) Kill() {
	if !s.ended() {
		s.signal(syscall.SIGKILL)
		<-s.done
		s.cmd = nil
	}
}

// Hang suspends the server: its connections stay open, but it does not answer.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Promote makes a standby the primary and returns once it accepts writes.
func (s *Server) Promote(t testing.TB) {
	s.tool(t, "pg_ctl", "promote", "-D", "data", "-w", "-t", "30")
}

// Configure changes a setting of the running server.
func (s *Server) Configure(t testing.TB, name, value string) {
	Exec(t, s.Address("postgres"), "ALTER SYSTEM SET "+name+" = '"+value+"'", "SELECT pg_reload_conf()")
	dbtest.Eventually(t, name+" "+value, func() bool {
		return Query[string](t, s.Address("postgres"), "SELECT current_setting($1)", name) == value
	})
	// By its end, the checkpointer has told all sessions whether commits wait for a standby.
	Exec(t, s.Address("postgres"), "CHECKPOINT")
}

// Database creates an empty database and returns its address.
func (s *Server) Database(t testing.TB) string {
	name := "test_" + strings.ToLower(rand.Text())
	Exec(t, s.Address("postgres"), "CREATE DATABASE "+name)
	return s.Address(name) + "&connect_timeout=20" // for a busy machine
}

// Exec runs statements on the database at address, each on a connection of its own.
func Exec(t testing.TB, address string, statements ...string) {
	for _, sql := range statements {
		err := connected(address, func(ctx context.Context, c *pgx.Conn) error { _, err := c.Exec(ctx, sql); return err })
		require.NoError(t, err, "%s", sql)
	}
}

// Query runs a query and returns its only value.
func Query[T any](t testing.TB, address, query string, args ...any) (value T) {
	err := connected(address, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, query, args...).Scan(&value)
	})
	require.NoError(t, err, "%s", query)
	return value
}

// connected calls f with a connection to the database at address.
func connected(address string, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return f(ctx, c)
}

// CancelSync cancels the waits of statements like one for a standby at the server at address, once there is one.
func CancelSync(t testing.TB, address, statement string) {
	const cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE $1"
	dbtest.Eventually(t, statement, func() bool { return Query[int](t, address, cancel, statement) > 0 })
}
