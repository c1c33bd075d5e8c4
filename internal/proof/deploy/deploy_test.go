//go:build deploy

// Package deploy tests deploy/ with the programs that operators use, and a copy of the
// repository with another name. "make deploy-check" builds the service first.
package deploy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/gen/client"
)

const (
	path   = "/v1/pets"
	apiKey = "a-key-for-the-tests-of-deploy"
)

// root returns the absolute path of a file in the repository.
func root(t *testing.T, path ...string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func petstore(t *testing.T) string { return root(t, ".bin", "petstore") }

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(root(t, path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace replaces each old string, which must occur, with the new one after it.
func replace(t *testing.T, text string, oldnew ...string) string {
	t.Helper()
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("got a file without %q, which the test replaces", oldnew[i])
		}
	}
	return strings.NewReplacer(oldnew...).Replace(text)
}

// run runs a program in the repository and returns its standard output.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = root(t), append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, tail(stdout.String()), tail(stderr.String()))
	}
	return strings.TrimSpace(stdout.String())
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

// start starts a program in the background. stop sends SIGTERM and checks that the
// program exits with status 0; kill sends SIGKILL and waits.
func start(t *testing.T, env []string, name string, args ...string) (stop, kill func()) {
	t.Helper()
	var output bytes.Buffer // read only after the program has ended
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	kill = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its workers; they may have ended
		_ = wait()
	}
	t.Cleanup(func() {
		kill()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(name), tail(output.String()))
		}
	})
	return func() {
		t.Helper()
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), wait()); err != nil {
			t.Errorf("%s after SIGTERM: got %v, want exit status 0", name, err)
		}
	}, kill
}

// eventually waits until condition returns true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// freeAddress returns an address with a free port, below the ephemeral ports.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

// serve starts "petstore serve" on address and waits until it is ready.
func serve(t *testing.T, address string, args ...string) (stop, kill func()) {
	t.Helper()
	stop, kill = start(t, []string{"PETSTORE_API_KEYS=" + apiKey}, petstore(t), append([]string{"serve", "--addr", address}, args...)...)
	waitFor(t, "http://"+address+"/readyz")
	return stop, kill
}

// waitFor waits until a GET of url returns 200.
func waitFor(t *testing.T, url string) {
	t.Helper()
	c := newClient()
	defer c.CloseIdleConnections()
	eventually(t, url, func() bool {
		status, _, err := send(c, http.MethodGet, url, "", "")
		return err == nil && status == http.StatusOK
	})
}

func newClient() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the test's own certificates
	}}
}

// send sends a request with the API key and returns the status and the body of the
// response.
func send(c *http.Client, method, url, body, idempotencyKey string) (int, string, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header = http.Header{"Authorization": {"Bearer " + apiKey}, "Content-Type": {"application/json"}, "Idempotency-Key": {idempotencyKey}}
	response, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), errors.Join(err, response.Body.Close())
}

// underLoad makes eight clients create and list pets while during runs, and returns how
// many they created. more waits for another 500 requests.
func underLoad(t *testing.T, url string, during func(more func())) (created int64) {
	t.Helper()
	var clients sync.WaitGroup
	var ended atomic.Bool
	var requests, creates atomic.Int64
	for range 8 {
		clients.Go(func() {
			c := newClient() // with its own connection
			defer c.CloseIdleConnections()
			for !ended.Load() {
				if err := createAndList(c, url); err != nil {
					t.Error(err)
					return
				}
				creates.Add(1)
				requests.Add(2)
			}
		})
	}
	defer clients.Wait()
	defer ended.Store(true)
	during(func() {
		t.Helper()
		until := requests.Load() + 500
		eventually(t, "more requests", func() bool { return requests.Load() >= until || t.Failed() })
	})
	ended.Store(true)
	clients.Wait()
	return creates.Load()
}

// createAndList creates a pet, with retries as the document recommends, and lists some.
func createAndList(hc *http.Client, url string) error {
	c, err := client.NewClientWithResponses(url+strings.TrimSuffix(path, "/pets"), client.WithKey(apiKey), client.WithHTTPClient(hc), client.WithRetries(5))
	if err != nil {
		return err
	}
	pet, err := c.CreatePetWithResponse(context.Background(), nil, client.NewPet{Name: "Frank", CategoryID: 1})
	if err == nil {
		err = client.Check(pet.JSON201, pet.HTTPResponse, pet.Body)
	}
	if err != nil {
		return err
	}
	status, text, err := send(hc, http.MethodGet, url+path, "", "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("list: got %d %s", status, text)
	}
	return err
}
