// Package program starts servers for tests of the whole program: the service in
// this process, or the program in a process of its own.
package program

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Build builds the program and returns its path. If the environment variable
// PROGRAM is set, Build returns that instead.
func Build(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("PROGRAM"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "petstore")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "example.com/petstore/cmd/petstore")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return path
}

// Key is a fixed API key that all servers of this package accept.
const Key = "an-api-key-for-the-tests"

// Server is a running server.
type Server struct {
	URL  string // for example http://127.0.0.1:12345/v1
	Addr string // host and port of URL
	PID  int

	mu  sync.Mutex
	log strings.Builder
}

// Log returns what the server has logged so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Serve starts a server on a free port and waits until it serves. It stops the
// server when the test ends.
func Serve(t testing.TB, path string, args ...string) *Server {
	t.Helper()
	cmd := exec.Command(path, append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--drain", "0s"}, args...)...)
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+Key)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &Server{PID: cmd.Process.Pid}
	serving, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewReader(stderr); ; {
			line, err := lines.ReadString('\n')
			s.mu.Lock()
			s.log.WriteString(line)
			s.mu.Unlock()
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
				serving <- entry.Address
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Error("the server did not stop")
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
	})
	select {
	case s.URL = <-serving:
	case <-ended:
		t.Fatalf("the server exited before it served:\n%s", s.Log())
	case <-time.After(20 * time.Second):
		t.Fatalf("the server did not start to serve:\n%s", s.Log())
	}
	_, addr, _ := strings.Cut(s.URL, "://")
	s.Addr, _, _ = strings.Cut(addr, "/")
	return s
}
