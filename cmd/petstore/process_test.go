package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
)

// giveUp limits how long a test waits for a process that hangs.
const giveUp = time.Minute

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

// TestProcess checks that a server listens on all sockets that systemd passes, is not ready while it
// drains after SIGHUP, survives the reader of its log, and ends at a second signal.
func TestProcess(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // or the server ignores it, too, under nohup
	// LISTEN_PID is the server's, because exec does not change it.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=2 exec petstore serve --store memory: --drain 1h")
	cmd.Env = append(os.Environ(), keysVariable+"="+program.Key)
	var addrs [2]string
	for i := range addrs {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		file, err := l.File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		addrs[i], cmd.ExtraFiles = l.Addr().String(), append(cmd.ExtraFiles, file)
	}
	log, err := cmd.StderrPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if got, stderr := runHere(t.Context(), "health --addr "+addr, environment{}); got != 0 {
			t.Errorf("health: got %d, %s, want 0", got, stderr)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(log); !strings.Contains(lines.Text(), "stopping") && lines.Scan(); {
	}
	_ = log.Close()
	if got, stderr := runHere(t.Context(), "health --addr "+addrs[0], environment{}); got != 1 || !strings.Contains(stderr, " 503 ") {
		t.Errorf("health of a server that stops: got %d, %s, want 1, and the status", got, stderr)
	}
	wantExit(t, cmd, syscall.SIGTERM, "signal: terminated")
}

// TestNohup checks that SIGHUP does not stop a server that nohup started.
func TestNohup(t *testing.T) {
	t.Parallel()
	const serve = "petstore serve --addr 127.0.0.1:0 --store memory: --drain 1h"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "trap '' HUP; exec "+serve)
	cmd.Env = append(os.Environ(), keysVariable+"="+program.Key)
	log, err := cmd.StderrPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(log); !strings.Contains(lines.Text(), `"serving"`) && lines.Scan(); {
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	wantExit(t, cmd, syscall.SIGINT, "<nil>") // a second signal would kill it
}

// TestUnreadOutput checks that a server ends although nobody reads what it prints.
func TestUnreadOutput(t *testing.T) {
	t.Parallel()
	unread(t, "serve --drain 10ms --store memory:", `"msg":"serving"`, "1 after 12.01s", nil)
	unread(t, "serve --drain 10ms --store memory:", `"variable":"PETSTORE_STROE"`, "1 after 12.01s", nil)
}

// unread runs a command, reads its output up to a line that contains until, and no more. It
// checks that a server whose log is blocked is not ready, and with which status the command
// exits how long after fail, or after a signal if fail is nil.
func unread(t *testing.T, args, until, want string, fail func(url string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pipe, in := io.Pipe()
	ended, out := make(chan string, 2), &server.Filter{Writer: in}
	env := &environment{
		variables: map[string]string{keysVariable: program.Key, "PETSTORE_STROE": "misspelt"},
		stdout:    out, stderr: out, sockets: []net.Listener{l},
		exitAfter: func(d time.Duration, status int) { ended <- fmt.Sprintf("%d after %v", status, d) },
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() { _ = in.CloseWithError(fmt.Errorf("it returned %d", run(ctx, strings.Fields(args), env))) }()
	lines := bufio.NewScanner(pipe)
	for !strings.Contains(lines.Text(), until) {
		if !lines.Scan() {
			t.Fatalf("%s: %v before %s", args, lines.Err(), until)
		}
	}
	if strings.Contains(until, "serving") && fail == nil {
		go env.logger.Info("a line") // which nobody reads
		got, stderr := 0, ""
		for ; got == 0; time.Sleep(100 * time.Millisecond) { // the server is ready for 5 s more
			got, stderr = runHere(t.Context(), "health --addr "+l.Addr().String(), environment{})
		}
		if got != 1 || !strings.Contains(stderr, "correct --tls-cert: 503 ") {
			t.Errorf("health: got %d, %s, want 1, and the status", got, stderr)
		}
	}
	if fail == nil {
		cancel(server.Interrupted{Signal: syscall.SIGTERM})
	} else {
		fail("http://" + l.Addr().String())
	}
	if got := <-ended; got != want {
		t.Errorf("%s, unread after %s: got status %s, want %s", args, until, got, want)
	}
	for lines.Scan() { // until it has returned
	}
}

// hung is a store that hangs when uses of keys are to be recorded, and calls forget when old
// idempotency keys are to be deleted.
type hung struct {
	store.Store
	forget func()
}

func (hung) RecordKeyUse(ctx context.Context, _ map[string]time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

func (h hung) ForgetIdempotencyKeys(context.Context, time.Duration) (int, error) {
	h.forget()
	return 0, nil
}

// pipes is a listener.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return new(net.TCPAddr) }

// TestBackground checks that a server deletes old idempotency keys, and that it ends although
// the last uses of keys cannot be stored, and says so.
func TestBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l, st := make(pipes), memory.New()
		token, err := createKey(ctx, st, "demo", false)
		if err != nil {
			t.Fatal(err)
		}
		forget := func() {
			client, conn := net.Pipe()
			l <- conn
			fmt.Fprintf(client, "GET %s HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n", example.ListPath(), token)
			if got, err := io.ReadAll(client); !strings.HasSuffix(string(got), "\n[]\n") {
				t.Errorf("got %s, error %v, want []", got, err)
			}
			cancel()
		}
		discard := &server.Filter{Writer: io.Discard}
		env := &environment{stdout: discard, stderr: discard, sockets: []net.Listener{l}, exitAfter: func(time.Duration, int) {}}
		env.store.Open = func(context.Context, string, db.Options) (store.Store, error) { return hung{st, forget}, nil }
		cfg := serveConfig{server: server.Options{MaxConnections: 1}}
		cfg.setUp(env)
		err = serve(ctx, env, &cfg)
		if want := "the last uses of API keys were not stored: context deadline exceeded"; fmt.Sprint(err) != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	})
}

// TestTerminal checks that a server creates a missing key only if all its output goes to a terminal.
func TestTerminal(t *testing.T) {
	t.Parallel()
	const serve = "petstore serve --addr 127.0.0.1:0 --store memory:"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", serve+" | cat; exec "+serve)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	text := ""
	for lines := bufio.NewScanner(terminal); !strings.Contains(text, "msg=serving") && lines.Scan(); {
		text += lines.Text() + "\n"
	}
	m := regexp.MustCompile(`(?s)^petstore: the memory store has no key, .*only this once:\s+(psk_\w+)\s.*` +
		`Bearer (psk_\w+)' (\S+)/pets\s.*msg=serving address=(\S+) `).FindStringSubmatch(text)
	if m == nil || m[1] != m[2] || m[3] != m[4] {
		t.Fatalf("got %s, want no key, then a key and how to use it", text)
	}
	wantExit(t, cmd, syscall.SIGINT, "<nil>") // without the drain

	discard := &server.Filter{Writer: io.Discard}
	st, env := memory.New(), &environment{terminal: true, stdout: discard, logger: slog.New(slog.DiscardHandler)}
	err = offerKey(t.Context(), env, st, "http://127.0.0.1/v1")
	if all, err2 := st.Keys(t.Context()); errors.Join(err, err2) != nil || len(all) > 0 {
		t.Errorf("only stderr is a terminal: got keys %v, errors %v, %v, want none", all, err, err2)
	}
}
