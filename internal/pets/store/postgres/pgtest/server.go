//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a throwaway server on a port of its own. Nothing it holds survives
// the test.
type Server struct {
	dir, bin string
	port     int
	process  *exec.Cmd
	exited   chan struct{}
}

// Start starts a server with these settings beside the usual ones, and stops it
// after the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := start(settings)
	if err != nil {
		t.Fatalf("this test needs a PostgreSQL server of its own: %v", err)
	}
	t.Cleanup(s.remove)
	return s
}

func start(settings []string) (*Server, error) {
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	if err = s.makeData(); err == nil {
		err = s.run(settings)
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// makeData makes the data folder of an empty server.
func (s *Server) makeData() error {
	if !template.used {
		return s.initdb()
	}
	template.once.Do(func() {
		if template.from, template.err = prepare(); template.err == nil {
			template.err = template.from.initdb()
		}
	})
	if template.err != nil {
		return template.err
	}
	cmd := s.command("cp", "-a", template.from.data(), s.data())
	cmd.Path, cmd.Err = exec.LookPath("cp")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("copying the template of servers: %w: %s", err, out)
	}
	return nil
}

func (s *Server) initdb() error {
	return s.tool("initdb", "-D", s.data(), "-N", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions")
}

// Standby starts a standby of s, which streams from it under that name.
func (s *Server) Standby(t testing.TB, name string, settings ...string) *Server {
	t.Helper()
	b, err := s.startStandby(name, settings)
	if err != nil {
		t.Fatalf("starting a standby: got error %v", err)
	}
	t.Cleanup(b.remove)
	return b
}

func (s *Server) startStandby(name string, settings []string) (*Server, error) {
	b, err := prepare()
	if err != nil {
		return nil, err
	}
	if err = b.copyOf(s, name); err == nil {
		err = b.run(settings)
	}
	if err != nil {
		b.remove()
		return nil, err
	}
	return b, nil
}

// copyOf makes the data folder of a standby.
func (s *Server) copyOf(primary *Server, name string) error {
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=%s", primary.port, name)
	return s.tool("pg_basebackup", "-D", s.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", from)
}

// Rebuild makes a standby anew, at its address, from a copy of the primary.
func (s *Server) Rebuild(t testing.TB, primary *Server, name string) {
	t.Helper()
	s.Kill()
	err := os.RemoveAll(s.data())
	if err == nil {
		err = s.copyOf(primary, name)
	}
	if err == nil {
		err = s.run(nil)
	}
	if err != nil {
		t.Fatalf("rebuilding the standby: got error %v", err)
	}
}

// prepare finds the programs and makes the folder of a server.
func prepare() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "petstore-pgtest-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if c := credential(); c != nil {
		if err := os.Chown(dir, int(c.Uid), int(c.Gid)); err != nil {
			return nil, err
		}
	}
	return s, s.pickPort()
}

func (s *Server) pickPort() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	return l.Close()
}

// programs returns the folder of initdb and postgres, the newest of Debian's or
// the one in PATH.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	return "", missing()
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// credential is the user postgres where this process is root, which PostgreSQL
// refuses to run as.
func credential() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil
		}
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential()}
	endWithTests(cmd.SysProcAttr)
	return cmd
}

func (s *Server) tool(program string, args ...string) error {
	if out, err := s.command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "log") }

// run starts the server and waits until it accepts connections. It does not
// survive the machine, so it need not sync files; it does survive a kill.
func (s *Server) run(settings []string) error {
	settings = append([]string{"fsync=off", "full_page_writes=off", "max_connections=100", "shared_buffers=32MB", "log_checkpoints=off", "wal_retrieve_retry_interval=100ms"}, settings...)
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", s.dir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.process, s.exited = cmd, exited
	go func() { _ = cmd.Wait(); close(exited) }()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-exited:
			return fmt.Errorf("postgres ended at once: %s", s.Log())
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := pgx.Connect(ctx, s.Address("postgres"))
		if err == nil {
			_ = c.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("postgres did not accept connections within 30 s: %s", s.Log())
}

// Log returns the log of the server.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.log())
	return string(b)
}

// Host returns the server's host and port.
func (s *Server) Host() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// Address returns the address of a database of the server.
func (s *Server) Address(database string) string { return Addresses(database, s) }

// Addresses returns the address of a database that is on one of the servers.
func Addresses(database string, servers ...*Server) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = s.Host()
	}
	return "postgres://postgres@" + strings.Join(hosts, ",") + "/" + database + "?sslmode=disable"
}

// processes returns the server's processes, the first of which starts the
// others.
func (s *Server) processes() []int {
	all := []int{s.process.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if _, parent := stateOf(pid); parent == all[0] {
			all = append(all, pid)
		}
	}
	return all
}

// stateOf returns the state letter and the parent of a process, "" and 0 where
// there is none.
func stateOf(pid int) (state string, parent int) {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// pid (name) state parent …; the name may have spaces and brackets in it
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// lives reports whether a process holds anything yet: a zombie does not.
func lives(pid int) bool {
	state, _ := stateOf(pid)
	return state != "" && state != "Z" && state != "X"
}

func (s *Server) signal(sig syscall.Signal) {
	for _, pid := range s.processes() {
		_ = syscall.Kill(pid, sig)
	}
}

// Kill ends the server as the death of its machine would: all of its processes
// at once, and none gets to say so.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	s.Hang()
	all := s.processes()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.exited
	s.process = nil
	// Until the last has let go of the server's memory none can start again.
	for _, pid := range all {
		for deadline := time.Now().Add(10 * time.Second); lives(pid) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
}

// Hang stops all processes of the server: it keeps its connections and does not
// respond.
func (s *Server) Hang() {
	// The first before the others, so that it starts no more of them.
	_ = s.process.Process.Signal(syscall.SIGSTOP)
	s.signal(syscall.SIGSTOP)
}

// Resume ends a Hang.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// ShutDown has the server refuse new connections (57P03), and end once the last is
// closed.
func (s *Server) ShutDown() { _ = s.process.Process.Signal(syscall.SIGTERM) }

// Restart starts a server again that was killed.
func (s *Server) Restart(t testing.TB, settings ...string) {
	t.Helper()
	_ = os.Remove(filepath.Join(s.data(), "postmaster.pid"))
	if err := s.run(settings); err != nil {
		t.Fatalf("starting the server again: got error %v", err)
	}
}

// Promote makes a standby the primary and returns when it takes writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.tool("pg_ctl", "promote", "-D", s.data(), "-w", "-t", "30"); err != nil {
		t.Fatalf("promoting: got error %v", err)
	}
}

// Configure changes settings of the running server.
func (s *Server) Configure(t testing.TB, settings map[string]string) {
	t.Helper()
	for name, value := range settings {
		Exec(t, s.Address("postgres"), "ALTER SYSTEM SET "+name+" = '"+value+"'")
	}
	Exec(t, s.Address("postgres"), "SELECT pg_reload_conf()")
	for name, value := range settings {
		Eventually(t, 10*time.Second, name+" becoming "+value, func() bool {
			return Query[string](t, s.Address("postgres"), "SELECT current_setting($1)", name) == value
		})
	}
	// The checkpointer tells all sessions whether commits wait for a standby, once
	// it has read the settings: at the latest before the checkpoint asked for here.
	Exec(t, s.Address("postgres"), "CHECKPOINT")
}

func (s *Server) remove() {
	s.Kill()
	if err := os.RemoveAll(s.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
}
