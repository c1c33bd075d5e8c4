//go:build deploy

// Package deploy runs what deploy/ has, on the programs that operators use.
// `make deploy-check` builds the service first.
package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	// giveUp is how long a test waits for anything: the machine may be busy.
	giveUp = 90 * time.Second
	apiKey = "a-key-for-the-checks-of-deploy"
)

// root returns the absolute path of a file of the repository.
func root(t *testing.T, path ...string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// petstore returns the program that `make build` makes.
func petstore(t *testing.T) string {
	t.Helper()
	program := root(t, ".bin", "petstore")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; run make deploy-check, which builds it", err)
	}
	return program
}

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

// command runs a program to its end and returns all that it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: got %v, want success\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// process is a program that runs beside the test.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	mu     sync.Mutex
	out    bytes.Buffer
}

// start starts a program; the end of the test ends it. Its environment is env and
// the test's own.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its status is in ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // with its workers; it may be gone already
		<-p.exited
		if t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(name), p.tail())
		}
	})
	return p
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *process) tail() string {
	out := p.output()
	return out[max(0, len(out)-4000):]
}

// stop sends SIGTERM and wants the process to end with 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit status after SIGTERM: got %d, want 0: %s", code, p.tail())
		}
	case <-time.After(giveUp):
		t.Fatalf("it does not end: %s", p.tail())
	}
}

// eventually waits until a condition holds, which takes the process.
func (p *process) eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	p.within(t, giveUp, what, condition)
}

// within is eventually with another time.
func (p *process) within(t *testing.T, longest time.Duration, what string, condition func() bool) {
	t.Helper()
	within(t, longest, what, func() bool {
		select {
		case <-p.exited:
			t.Fatalf("%s: the process ended: %s", what, p.tail())
		default:
		}
		return condition()
	})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	within(t, giveUp, what, condition)
}

func within(t *testing.T, longest time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: got nothing in %v", what, longest)
		}
	}
}

// portsTaken counts the ports that freeAddress has tried.
var portsTaken atomic.Int64

// freeAddress returns an address of this machine that nobody listens on, each once.
// Its port is below those that the kernel gives to connections: a client of another
// test could have taken one of these before the server listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	first := int64(os.Getpid()) * 100 // another run has others
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 10000+(first+portsTaken.Add(1))%20000)
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("ports from 10000 to 29999: got none that is free, want one")
	return ""
}

// replica starts `petstore serve` on addr and waits until it serves.
func replica(t *testing.T, addr string, args ...string) *process {
	t.Helper()
	return serve(t, nil, addr, args...)
}

// serve is replica with env in its environment.
func serve(t *testing.T, env []string, addr string, args ...string) *process {
	t.Helper()
	p := start(t, append(env, "PETSTORE_API_KEYS="+apiKey), petstore(t), append([]string{"serve", "--addr", addr}, args...)...)
	p.eventually(t, "a replica that serves", func() bool {
		return strings.Contains(p.output(), `"msg":"serving"`)
	})
	return p
}

// send makes one request with the key and returns the status and the body.
func send(ctx context.Context, client *http.Client, method, url, body string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+apiKey)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), errors.Join(err, response.Body.Close())
}

// replace replaces every match of pattern, and wants one at least.
func replace(t *testing.T, text, pattern, by string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	if !re.MatchString(text) {
		t.Fatalf("got no %s in the file, want one: the test adapts it", pattern)
	}
	return re.ReplaceAllString(text, by)
}
