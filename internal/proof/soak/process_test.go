//go:build postgres && torture

package soak

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the binary that `make build` made.
const program = "../../../.bin/petstore"

// fixedKey opens every server, so that the load depends on no key that an event
// revokes.
const fixedKey = "a-fixed-key-for-the-soak-run"

// patience bounds every wait: longer than any outage here, on a busy machine too.
const patience = 2 * time.Minute

// server is one `petstore serve`, always at the same address, in a process that
// events replace.
type server struct {
	address string
	args    func() []string // the flags of the next start
	log     string          // the file that its processes append to

	mu  sync.Mutex
	cmd *exec.Cmd
}

// newServer starts a server on a free port. The end of the test kills it.
func newServer(t *testing.T, name, dir string, args func() []string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: l.Addr().String(), args: args, log: filepath.Join(dir, name+".log")}
	_ = l.Close()
	s.start(t)
	t.Cleanup(func() {
		s.signal(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, s.logTail())
		}
	})
	return s
}

// start starts a process and waits until it is ready.
func (s *server) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, append([]string{"serve", "--addr", s.address, "--drain", "200ms"}, s.args()...)...)
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+fixedKey)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: got error %v; run make build", program, err)
	}
	s.mu.Lock()
	s.cmd = cmd
	s.mu.Unlock()
	eventually(t, s.address+" being ready", func() bool { return s.ready() })
}

func (s *server) ready() bool {
	c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get("http://" + s.address + "/readyz")
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// signal sends a signal to the process and, for one that ends it, waits for the
// end.
func (s *server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig)
	_ = s.cmd.Wait()
	s.cmd = nil
}

func (s *server) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// awaitEnd waits until the process has ended by itself and returns its exit status.
func (s *server) awaitEnd(t *testing.T) int {
	t.Helper()
	s.mu.Lock()
	cmd := s.cmd
	s.cmd = nil
	s.mu.Unlock()
	killed := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer killed.Stop()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// restart replaces the process, which ends by the signal.
func (s *server) restart(t *testing.T, sig syscall.Signal) {
	s.signal(sig)
	s.start(t)
}

func (s *server) logTail() string {
	data, _ := os.ReadFile(s.log)
	return string(data[max(0, len(data)-2000):])
}

// usage returns the memory and the file descriptors of the process, zero while
// there is none.
func (s *server) usage() (memory int64, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0, 0
	}
	proc := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	data, _ := os.ReadFile(proc + "status")
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	if fields := strings.Fields(rest); len(fields) > 0 {
		kib, _ := strconv.ParseInt(fields[0], 10, 64)
		memory = kib << 10
	}
	open, _ := os.ReadDir(proc + "fd")
	return memory, len(open)
}

// petstore runs a command of the program to its end.
func petstore(args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("petstore %s: %s: %s", args[0], exit.ProcessState, out)
	}
	return string(out), err
}

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: got none within %v", what, patience)
		}
	}
}
