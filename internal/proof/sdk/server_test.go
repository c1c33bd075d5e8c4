//go:build thirdparty

package sdk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The times that a test waits: for a command that may download, and for any other,
// such as a story, whose walk might never end.
const (
	long  = 10 * time.Minute
	short = time.Minute
)

// root is the top of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shell runs a command line in dir, with variables beside those of the test,
// and returns its output.
func shell(t *testing.T, patience time.Duration, dir, line string, variables ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS") { // of the make that runs this test
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, variables...)
	cmd.WaitDelay = time.Second // a program of the shell may hold its output open
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\ngot %v, want it to succeed; it wrote\n%s%s", line, err, out, stderr.String())
	}
	return string(out)
}

// build builds the program and returns where it is.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "petstore")
	shell(t, long, root(t), "go build -o "+program+" ./cmd/petstore")
	return program
}

// server is `petstore serve` in a process of its own.
type server struct {
	base     string // http://127.0.0.1:…/v1
	process  *exec.Cmd
	requests []string // method, path and status, in order
	ended    chan error
}

// entry is a line of the log.
type entry struct {
	Msg, Address, Method, Path string
	Status                     int
}

// serve starts the command line, which begins `VARIABLE=value program serve`,
// on a free port. The end of the test kills what is left of it.
func serve(t *testing.T, line string) *server {
	t.Helper()
	s := &server{process: exec.Command("sh", "-c", "exec env "+line+" --addr 127.0.0.1:0"), ended: make(chan error, 1)}
	log, err := s.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.process.Process.Kill() }) // it may be gone already
	serving := make(chan string, 1)
	go s.follow(log, serving)
	select {
	case s.base = <-serving:
	case err := <-s.ended:
		t.Fatalf("the server ended before it served: %v", err)
	case <-time.After(short):
		t.Fatal("the server says nowhere that it serves")
	}
	return s
}

// follow reads the log until the process ends.
func (s *server) follow(log io.Reader, serving chan<- string) {
	var other []string
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			other = append(other, lines.Text())
			continue
		}
		switch e.Msg {
		case "serving":
			serving <- e.Address
		case "request":
			s.requests = append(s.requests, fmt.Sprintf("%s %s %d\n", e.Method, e.Path, e.Status))
		}
	}
	err := s.process.Wait()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(other, "\n"))
	}
	s.ended <- err
}

// stop ends the server and returns the requests it has served, one a line.
func (s *server) stop(t *testing.T) string {
	t.Helper()
	if err := s.process.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			t.Fatalf("the server ended with %v", err)
		}
	case <-time.After(short):
		t.Fatal("the server does not end")
	}
	return strings.Join(s.requests, "")
}
