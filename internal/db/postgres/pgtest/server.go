//go:build linux

// Package pgtest runs throwaway PostgreSQL and PgBouncer servers for tests, using
// the programs installed on this machine. A test that lacks them fails; it is
// never skipped.
package pgtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server on a port of its own. It is removed when the test ends.
type Server struct {
	dir      string
	port     int
	settings []string
	cmd      *exec.Cmd
	done     chan struct{} // closed when the process has ended
}

// Start starts an empty server with settings such as "max_connections=10".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := start(t, settings...)
	t.Cleanup(s.remove)
	return s
}

func start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := newServer(t)
	s.settings = settings
	// Copying is faster than running initdb for each server.
	from := template.get(func() *Server {
		s := newServer(t)
		s.tool(t, "initdb", "-D", "data", "-N", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--wal-segsize=1", "--no-instructions")
		return s
	})
	s.tool(t, "cp", "-a", from.data(), "data")
	s.Run(t)
	return s
}

// template never runs, and shared is the server that the tests of a package share.
var template, shared lazyServer

// lazyServer is a server that the first test to need it makes.
type lazyServer struct {
	mu sync.Mutex
	s  *Server
}

func (l *lazyServer) get(made func() *Server) *Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.s == nil {
		l.s = made()
	}
	return l.s
}

// Pair starts a primary and a synchronous standby.
func Pair(t testing.TB) (primary, standby *Server) {
	t.Helper()
	primary, standby = Start(t), newServer(t)
	t.Cleanup(standby.remove)
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=standby", primary.port)
	standby.tool(t, "pg_basebackup", "-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", from)
	standby.Run(t)
	primary.Configure(t, "synchronous_standby_names", "standby")
	Eventually(t, 10*time.Second, "a synchronous standby", func() bool {
		return Query[bool](t, primary.Address("postgres"), "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
	})
	return primary, standby
}

// Pooler starts a PgBouncer in front of s, with transactions on three connections.
func (s *Server) Pooler(t testing.TB) *Server {
	t.Helper()
	p := newServer(t)
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
	if err := os.WriteFile(filepath.Join(p.dir, "ini"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.launch(t, p.Address("postgres")+"&default_query_exec_mode=simple_protocol", "pgbouncer", "ini")
	return p
}

func newServer(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		t.Fatal(err)
	}
	if c := credential(); c != nil {
		if err := os.Chown(dir, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &Server{dir: dir, port: l.Addr().(*net.TCPAddr).Port}
	servers.Store(s, true)
	return s
}

// servers has all servers as its keys.
var servers sync.Map

// credential returns the user postgres if this process runs as root, because
// PostgreSQL refuses to run as root.
func credential() *syscall.Credential {
	u, err := user.Lookup("postgres")
	if os.Getuid() != 0 || err != nil {
		return nil
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// command returns a command that runs as the server's user and ends with the
// test binary.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(located(program), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(), Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// located returns the path of a program: beside the initdb in PATH, so that any release
// can be tested, or where Debian has it.
func located(program string) string {
	patterns := []string{"/usr/lib/postgresql/*/bin/" + program, "/usr/sbin/" + program}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		patterns = append([]string{filepath.Join(filepath.Dir(initdb), program)}, patterns...)
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return program
}

func (s *Server) tool(t testing.TB, program string, args ...string) {
	t.Helper()
	if out, err := s.command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s, of Debian's package postgresql: %v: %s", program, err, out)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Run starts the server, perhaps again, and waits until it accepts connections.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", s.dir}
	for _, setting := range append([]string{"shared_buffers=32MB", "wal_retrieve_retry_interval=100ms"}, s.settings...) {
		args = append(args, "-c", setting)
	}
	s.launch(t, s.Address("postgres"), "postgres", args...)
}

// launch starts a program, restarts it if it ends, and returns once it accepts
// connections at address.
func (s *Server) launch(t testing.TB, address, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s.ended() {
			cmd, done := s.command(program, args...), make(chan struct{})
			cmd.Stdout, cmd.Stderr = log, log
			if err := cmd.Start(); err != nil {
				t.Fatalf("%s, of Debian's packages postgresql and pgbouncer: %v", program, err)
			}
			s.cmd, s.done = cmd, done
			go func() { _ = cmd.Wait(); close(done) }()
		}
		if err = connected(address, time.Second, func(context.Context, *pgx.Conn) error { return nil }); err == nil {
			return
		}
	}
	text, _ := os.ReadFile(log.Name())
	t.Fatalf("%s does not accept connections: %v: %s", program, err, text)
}

func (s *Server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return s.cmd == nil
	}
}

// Host returns the server's host and port.
func (s *Server) Host() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// Address returns the address of a database on the server.
func (s *Server) Address(database string) string { return Address(database, s.Host()) }

// Address returns the address of a database on one of several hosts.
func Address(database string, hosts ...string) string {
	return "postgres://postgres@" + strings.Join(hosts, ",") + "/" + database + "?sslmode=disable"
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
	}
}

// Hang suspends the server: its connections stay open, but it does not answer.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Promote makes a standby the primary and returns once it accepts writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.tool(t, "pg_ctl", "promote", "-D", s.data(), "-w", "-t", "30")
}

// Configure changes a setting of the running server.
func (s *Server) Configure(t testing.TB, name, value string) {
	t.Helper()
	Exec(t, s.Address("postgres"), "ALTER SYSTEM SET "+name+" = '"+value+"'", "SELECT pg_reload_conf()")
	Eventually(t, 10*time.Second, name+" "+value, func() bool {
		return Query[string](t, s.Address("postgres"), "SELECT current_setting($1)", name) == value
	})
	// The checkpointer tells all sessions whether commits wait for a standby. It
	// has done so by the end of this checkpoint.
	Exec(t, s.Address("postgres"), "CHECKPOINT")
}

func (s *Server) remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
	servers.Delete(s)
}
