package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

// giveUp limits how long a test waits for a process that hangs.
const giveUp = 2 * time.Minute

// process is a running server.
type process struct {
	*exec.Cmd
	address string // http://HOST:PORT, or empty on a Unix socket
	log     io.Closer
	rest    *bufio.Reader // the log after the line "serving"
	ended   chan struct{} // closed at the end of a process that a script started
}

var servingLine = regexp.MustCompile(`"msg":"serving","address":"(|https?://[^"/]+)/v1"`)

// start starts the command of a server and waits until it serves. All that is read from its
// log is copied to seen.
func start(cmd *exec.Cmd, seen io.Writer) (*process, error) {
	log, err := cmd.StderrPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		return nil, err
	}
	s := &process{Cmd: cmd, log: log, rest: bufio.NewReader(io.TeeReader(log, seen)), ended: make(chan struct{})}
	for begin := ""; ; {
		line, err := s.rest.ReadString('\n')
		begin += line
		if err != nil {
			return nil, fmt.Errorf("the server did not start: %s", begin)
		}
		if match := servingLine.FindStringSubmatch(line); match != nil {
			s.address = match[1]
			return s, nil
		}
	}
}

// serverCommand returns the command of a server with fixed keys.
func serverCommand(ctx context.Context, fixedKeys string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, service.Name, append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "0s"}, args...)...)
	cmd.Env = append(os.Environ(), "GOGC=", keysVariable+"="+fixedKeys)
	return cmd
}

// send sends a request with a key, which may be empty, and reads the body of the response.
func send(method, url, key, body string) (*http.Response, string, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://localhost:3000")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

const fixedKey = "0123456789abcdef"

// startLogged starts a server with a fixed key.
func startLogged(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	t.Cleanup(cancel)
	s, err := start(serverCommand(ctx, fixedKey, args), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantExit sends a process a signal and checks how it ends.
func wantExit(t *testing.T, cmd *exec.Cmd, signal syscall.Signal, want string) {
	t.Helper()
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); fmt.Sprint(err) != want {
		t.Errorf("the end: got %v, want %s", err, want)
	}
}

// TestLogWithoutReader checks that a server survives the reader of its log.
func TestLogWithoutReader(t *testing.T) {
	t.Parallel()
	s := startLogged(t, "--store", "memory:")
	_ = s.log.Close()
	if _, got, err := send("GET", s.address+example.ListPath(), fixedKey, ""); got != "[]\n" {
		t.Errorf("got %s, error %v, want []", got, err)
	}
	wantExit(t, s.Cmd, syscall.SIGTERM, "<nil>")
}

// TestSecondSignal checks that a second signal does not wait for the drain.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := startLogged(t, "--store", "memory:", "--drain", "1h")
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = s.rest.ReadString('\n') // "stopping"
	wantExit(t, s.Cmd, syscall.SIGTERM, "signal: terminated")
}

// TestSockets checks that a server listens on all sockets that systemd passes, and does not
// remove them.
func TestSockets(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	// LISTEN_PID is the server's, because exec does not change it.
	cmd := exec.CommandContext(ctx, "sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=2 exec petstore serve --store memory: --drain 0s")
	cmd.Env = append(os.Environ(), keysVariable+"="+fixedKey)
	path := t.TempDir() + "/http.sock"
	addrs := []string{"127.0.0.1:0", "unix:" + path}
	for i, addr := range addrs {
		l, err := server.Listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		file, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		if i == 0 {
			addrs[0] = l.Addr().String()
		}
	}
	s, err := start(cmd, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.address != "http://"+addrs[0] {
		t.Errorf("got the address %s, want that of the first socket, %s", s.address, addrs[0])
	}
	for _, addr := range addrs {
		if got, stderr := runHere(ctx, false, "health", "--addr", addr); got != 0 {
			t.Errorf("health: got %d, %s, want 0", got, stderr)
		}
	}
	wantExit(t, s.Cmd, syscall.SIGTERM, "<nil>")
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket after the end: %v", err)
	}
}

// TestOddSockets checks that a socket for datagrams is refused, and so is --addr with sockets.
func TestOddSockets(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"": "no stream", " --addr 127.0.0.1:0": "omit --addr"} {
		var out bytes.Buffer
		env := testEnvironment(&out)
		env.sockets = []net.Listener{nil} // a socket for datagrams
		got := run(t.Context(), strings.Fields("serve --store memory:"+args), env)
		if got != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %d, %s, want 2, %s", args, got, &out, want)
		}
	}
}

// TestUnreadOutput checks that a server ends although nobody reads what it prints.
func TestUnreadOutput(t *testing.T) {
	unread(t, "serve --drain 0s --store memory:", `"msg":"serving"`, 1, nil)
	unread(t, "serve --drain 0s --store memory:", `"variable":"PETSTORE_STROE"`, 1, nil)
}

// unread runs a command, reads its output up to a line that contains until, and no more. It
// checks that a server then is not ready, and that after fail, or a signal if fail is nil, the
// command exits with a status.
func unread(t *testing.T, args, until string, want int, fail func(url string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	url, ended, returned := "http://"+l.Addr().String(), make(chan int, 2), make(chan struct{})
	env := testEnvironment(in)
	env.variables["PETSTORE_STROE"] = "misspelt"
	env.stdout, env.sockets = env.stderr, []net.Listener{l}
	env.exitAfter = func(_ time.Duration, status int) { ended <- status }
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		_ = in.CloseWithError(fmt.Errorf("it returned %d", run(ctx, strings.Fields(args), env)))
		close(returned)
	}()
	lines := bufio.NewScanner(out)
	for !strings.Contains(lines.Text(), until) {
		if !lines.Scan() {
			t.Fatalf("%s: %v before %s", args, lines.Err(), until)
		}
	}
	if strings.Contains(until, "serving") {
		came := time.Now()
		go send("GET", url+example.ListPath(), fixedKey, "") // waits for the log
		for waits := false; !waits; time.Sleep(time.Millisecond) {
			env.stderr.mu.Lock()
			if waits = env.stderr.since.After(came); waits {
				env.stderr.since = time.Now().Add(-6 * time.Second)
			}
			env.stderr.mu.Unlock()
		}
		got, stderr := runHere(t.Context(), false, "health", "--addr", l.Addr().String())
		if got != 1 || !strings.Contains(stderr, "is not ready: 503 ") {
			t.Errorf("health: got %d, %s, want 1, and the status", got, stderr)
		}
	}
	if fail == nil {
		cancel(server.Interrupted{Signal: syscall.SIGTERM})
	} else {
		fail(url)
	}
	if got := <-ended; got != want {
		t.Errorf("%s, unread after %s: got status %d, want %d", args, until, got, want)
	}
	_ = out.Close()
	<-returned
}

// forgetting is a store that calls begun when old idempotency keys are to be deleted.
type forgetting struct {
	store.Store
	begun func()
}

func (f forgetting) ForgetIdempotencyKeys(context.Context, time.Time) (int, error) {
	f.begun()
	return 0, nil
}

// TestForgetting checks that a server deletes old idempotency keys.
func TestForgetting(t *testing.T) {
	t.Parallel()
	env := testEnvironment(io.Discard)
	_ = env.store.Set("memory:")
	cfg := serveConfig{addr: "127.0.0.1:0"}
	cfg.setUp(env)
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	open := env.store.Open
	env.store.Open = func(ctx context.Context, address string, o db.Options) (store.Store, error) {
		s, err := open(ctx, address, o)
		return forgetting{s, cancel}, err
	}
	if err := serve(ctx, env, &cfg); err != nil || ctx.Err() != context.Canceled {
		t.Errorf("got error %v, %v, want none, and a call", err, ctx.Err())
	}
}

// TestTerminal checks that a server creates a missing key only if all its output goes to a
// terminal.
func TestTerminal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	serve := func() *exec.Cmd {
		return exec.CommandContext(ctx, service.Name, "serve", "--addr", "127.0.0.1:0", "--store", "memory:")
	}
	piped := serve()
	piped.Stdout = io.Discard
	terminal, err := pty.Start(piped)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := piped.Wait(); fmt.Sprint(err) != "exit status 2" {
		t.Errorf("piped: got %v, want exit status 2", err)
	}
	cmd := serve()
	control, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	text := ""
	for lines := bufio.NewScanner(control); !strings.Contains(text, "msg=serving") && lines.Scan(); {
		text += lines.Text() + "\n"
	}
	m := regexp.MustCompile(`(?s)only this once:\s+(psk_\w+)\s.*Bearer (psk_\w+)' (\S+)/pets\s.*msg=serving address=(\S+) `).FindStringSubmatch(text)
	if m == nil || m[1] != m[2] || m[3] != m[4] {
		t.Errorf("got %s, want a key, and how to use it", text)
	}
	wantExit(t, cmd, syscall.SIGINT, "<nil>") // without the drain
}
