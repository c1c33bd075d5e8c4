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
	s, err := start(settings)
	if err != nil {
		t.Fatalf("this test needs PostgreSQL (apt-get install postgresql): %v", err)
	}
	t.Cleanup(s.remove)
	return s
}

func start(settings []string) (*Server, error) {
	from, err := template()
	if err != nil {
		return nil, err
	}
	return copied(settings, "cp", "-a", from.data(), "data")
}

// copied starts a server on the folder data that a program makes.
func copied(settings []string, program string, args ...string) (*Server, error) {
	s, err := newServer()
	if err == nil {
		s.settings = settings
		err = s.tool(program, args...)
	}
	if err == nil {
		err = s.run()
	}
	return s, err
}

// template holds the data directory that new servers copy, which is faster than
// running initdb for each.
var template = sync.OnceValues(func() (*Server, error) {
	s, err := newServer()
	if err == nil {
		err = s.tool("initdb", "-D", "data", "-N", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--wal-segsize=1", "--no-instructions")
	}
	return s, err
})

// Pair starts a primary and a synchronous standby.
func Pair(t testing.TB) (primary, standby *Server) {
	t.Helper()
	primary = Start(t)
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=standby", primary.port)
	standby, err := copied(nil, "pg_basebackup", "-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", from)
	if err != nil {
		t.Fatalf("starting a standby: got error %v", err)
	}
	t.Cleanup(standby.remove)
	primary.Configure(t, "synchronous_standby_names", "standby")
	Eventually(t, 10*time.Second, "a synchronous standby", func() bool {
		return Query[bool](t, primary.Address("postgres"), "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
	})
	return primary, standby
}

func newServer() (*Server, error) {
	dir, err := os.MkdirTemp("", "petstore-pgtest-")
	if err != nil {
		return nil, err
	}
	if c := credential(); c != nil {
		if err := os.Chown(dir, int(c.Uid), int(c.Gid)); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, port: l.Addr().(*net.TCPAddr).Port}
	servers.Store(s, true)
	return s, l.Close()
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

func (s *Server) tool(program string, args ...string) error {
	if out, err := s.command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run starts the server and waits until it accepts connections. By default, the
// server does not sync files: its data need not survive a crash of the machine.
func (s *Server) run() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", s.dir}
	for _, setting := range append([]string{"fsync=off", "full_page_writes=off", "shared_buffers=32MB", "wal_retrieve_retry_interval=100ms"}, s.settings...) {
		args = append(args, "-c", setting)
	}
	return s.launch("postgres", args, s.Address("postgres"))
}

// launch starts a program, restarts it if it ends, and returns once it accepts
// connections at address.
func (s *Server) launch(program string, args []string, address string) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if s.ended() {
			cmd, done := s.command(program, args...), make(chan struct{})
			cmd.Stdout, cmd.Stderr = log, log
			if err := cmd.Start(); err != nil {
				return err
			}
			s.cmd, s.done = cmd, done
			go func() { _ = cmd.Wait(); close(done) }()
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			_ = conn.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s does not accept connections: %w: %s", program, err, text)
		}
	}
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

// Restart starts a killed server again.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatalf("starting the server again: got error %v", err)
	}
}

// Promote makes a standby the primary and returns once it accepts writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.tool("pg_ctl", "promote", "-D", s.data(), "-w", "-t", "30"); err != nil {
		t.Fatalf("promoting: got error %v", err)
	}
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
