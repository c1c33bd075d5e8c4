//go:build deploy

// Package deploy tests deploy/ with the programs that operators use, and a copy of the
// repository with another name. "make deploy-check" builds the service first.
package deploy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/proof/program"
)

// Programs run in the top folder of the repository.
const (
	top      = "../../.."
	petstore = ".bin/petstore"
)

// run runs a program and returns its standard output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = top
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, tail(stdout.String()), tail(stderr.String()))
	}
	return strings.TrimSpace(stdout.String())
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

// start starts a program in the background, which is killed when the test ends. stop
// sends SIGTERM and checks that the program exits with status 0.
func start(t *testing.T, name string, args ...string) (stop func()) {
	t.Helper()
	var output bytes.Buffer // read only after the program has ended
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = top, &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its workers; they may have ended
		_ = wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", cmd, tail(output.String()))
		}
	})
	return func() {
		t.Helper()
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), wait()); err != nil {
			t.Errorf("%s after SIGTERM: got %v, want exit status 0", cmd, err)
		}
	}
}

// serve starts "petstore serve" on addr.
func serve(t *testing.T, addr string, args ...string) (stop func()) {
	t.Helper()
	args = append([]string{"PETSTORE_API_KEYS=" + program.Key, petstore, "serve", "--addr", addr}, args...)
	stop = start(t, "env", args...)
	program.WaitFor(t, addr)
	return stop
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newHTTPClient returns a client with connections of its own.
func newHTTPClient() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the test's own certificates
	}}
}
