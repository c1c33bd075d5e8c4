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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/gen/client"
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

// newClient returns a client of the service at url.
func newClient(t *testing.T, url string, options ...client.ClientOption) *client.ClientWithResponses {
	t.Helper()
	options = append([]client.ClientOption{client.WithKey(program.Key), client.WithHTTPClient(newHTTPClient())}, options...)
	c, err := client.NewClientWithResponses(url+"/v1", options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func list(t *testing.T, c *client.ClientWithResponses) error {
	r, err := c.ListPetsWithResponse(t.Context(), nil)
	if err != nil {
		return err
	}
	return client.Check(r.JSON200, r.HTTPResponse, r.Body)
}

// underLoad runs steps while eight clients create and list pets, and returns how many they
// created. They repeat only creates. Between the steps they create another 250.
func underLoad(t *testing.T, url string, steps ...func()) (created int64) {
	t.Helper()
	var clients sync.WaitGroup
	var ended atomic.Bool
	var creates atomic.Int64
	stop := func() {
		ended.Store(true)
		clients.Wait()
	}
	defer stop() // also if a step fails
	for range 8 {
		clients.Go(func() {
			creator, lister := newClient(t, url, client.WithRetries(5)), newClient(t, url)
			for !ended.Load() {
				r, err := creator.CreatePetWithResponse(t.Context(), nil, client.NewPet{Name: "Frank", CategoryID: 1})
				if err == nil {
					err = client.Check(r.JSON201, r.HTTPResponse, r.Body)
				}
				if err == nil {
					err = list(t, lister)
				}
				if err != nil {
					t.Error(err)
					return
				}
				creates.Add(1)
			}
		})
	}
	for _, step := range append([]func(){func() {}}, steps...) {
		step()
		end := time.Now().Add(2 * time.Minute)
		for until := creates.Load() + 250; creates.Load() < until && !t.Failed(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no 250 pets within two minutes")
			}
		}
	}
	stop()
	return creates.Load()
}
