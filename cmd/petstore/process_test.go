package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
)

// giveUp limits how long a test waits for what hangs.
const giveUp = 8 * time.Second

// limit fails a test that hangs.
func limit(t *testing.T) {
	timer := time.AfterFunc(giveUp, func() { panic(t.Name() + " hangs") })
	t.Cleanup(func() { timer.Stop() })
}

// TestProcess checks sockets that systemd passes, the drain after SIGHUP, a log without a reader, and a second signal.
func TestProcess(t *testing.T) {
	t.Parallel()
	limit(t)
	var addrs []string
	// LISTEN_PID is the server's, because exec does not change it.
	const script = "LISTEN_PID=$$ LISTEN_FDS=2 exec petstore serve --store memory: --drain 1h"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), keysVariable+"="+program.Key)
	for range 2 {
		l := example.Must(net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
		addrs, cmd.ExtraFiles = append(addrs, l.Addr().String()), append(cmd.ExtraFiles, example.Must(l.File()))
		_ = l.Close() // the file stays open
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // or the server ignores it, too, under nohup
	log := example.Must(cmd.StderrPipe())
	require.NoError(t, cmd.Start())
	for i, addr := range addrs {
		_ = cmd.ExtraFiles[i].Close() // only the server accepts
		wantRun(t.Context(), t, environment{}, "health --addr "+addr, 0, "")
	}
	_ = cmd.Process.Signal(syscall.SIGHUP)
	for lines := bufio.NewScanner(log); !strings.Contains(lines.Text(), "stopping") && lines.Scan(); {
	}
	_ = log.Close()
	wantRun(t.Context(), t, environment{}, "health --addr "+addrs[0], 1, " 503 ")
	_ = cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended
	assert.EqualError(t, cmd.Wait(), "signal: terminated")
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

// send sends a request with more lines of the header to the server.
func (p pipes) send(t *testing.T, method, path, body string, header ...string) (status int, text string) {
	client, conn := net.Pipe()
	p <- conn
	dial := func(context.Context, string, string) (net.Conn, error) { return client, nil }
	c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	status, text, _ = program.Send(t.Context(), c, method, "http://pipe"+path, body, header...)
	return status, text
}

const serving = `"msg":"serving"`

// TestUnreadOutput checks that a server ends although nobody reads what it prints.
func TestUnreadOutput(t *testing.T) {
	t.Parallel()
	limit(t)
	const command, want = "serve --drain 10ms --store memory:", "1 after 12.01s"
	synctest.Test(t, func(t *testing.T) {
		unread(t, command, `"variable":"PETSTORE_STROE"`, want, func(_ pipes, stop func()) { stop() })
	})
	synctest.Test(t, func(t *testing.T) {
		unread(t, command, serving, want, func(l pipes, stop func()) {
			go l.send(t, "GET", "/", "") // nobody reads its line of the log
			time.Sleep(6 * time.Second)
			got, text := l.send(t, "GET", "/readyz", "")
			assert.Equal(t, 503, got, "readiness: %s", text)
			stop()
		})
	})
}

// unread runs a command, reads its output up to a line that contains until, and no more. It calls end, which
// may send a signal by stop, and checks with which status the command exits how long after that.
func unread(t *testing.T, args, until, want string, end func(l pipes, stop func())) {
	pipe, in := io.Pipe()
	l, ended, out := make(pipes), make(chan string, 2), &server.Filter{Writer: in}
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
		require.True(t, lines.Scan(), "%s: %v before %s", args, lines.Err(), until)
	}
	end(l, func() { cancel(server.Interrupted{Signal: syscall.SIGTERM}) })
	assert.Equal(t, want, <-ended, "exit status of %s, unread after %s", args, until)
	for lines.Scan() { // until it has returned
	}
}

// hung is a store that cannot record uses of keys, and calls forget to delete old idempotency keys.
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

// TestBackground checks that a server deletes old idempotency keys, and ends although its store hangs.
func TestBackground(t *testing.T) {
	t.Parallel()
	limit(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l, st := make(pipes), memory.New()
		token := example.Must(createKey(ctx, st, "demo", false))
		forget := func() {
			got, text := l.send(t, "GET", example.ListPath(), "", "Authorization: Bearer "+token)
			assert.Equal(t, 200, got, text)
			cancel()
		}
		discard := &server.Filter{Writer: io.Discard}
		env := &environment{stdout: discard, stderr: discard, sockets: []net.Listener{l}, exitAfter: func(time.Duration, int) {}}
		env.store.Open = func(context.Context, string, db.Options) (store.Store, error) { return hung{st, forget}, nil }
		cfg := serveConfig{server: server.Options{MaxConnections: 1}}
		cfg.setUp(env)
		assert.EqualError(t, serve(ctx, env, &cfg), "the last uses of API keys were not stored: context deadline exceeded")
	})
}

// TestTerminal checks that a server creates a missing key only at a terminal, and that nohup works.
func TestTerminal(t *testing.T) {
	t.Parallel()
	limit(t)
	const serve = "petstore serve --addr 127.0.0.1:0 --store memory: --drain 1h"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "trap '' HUP; "+serve+" | cat; exec "+serve)
	terminal := example.Must(pty.Start(cmd))
	defer terminal.Close()
	text := ""
	for lines := bufio.NewScanner(terminal); !strings.Contains(text, "msg=serving") && lines.Scan(); {
		text += lines.Text() + "\n"
	}
	m := regexp.MustCompile(`(?s)^petstore: the memory store has no key, .*only this once:\s+(psk_\w+)\s.*` +
		`Bearer (psk_\w+)' http://(\S+)/v1/pets\s.*msg=serving address=http://(\S+)/v1 `).FindStringSubmatch(text)
	require.True(t, m != nil && m[1] == m[2] && m[3] == m[4], "got %s, want no key, then a key and how to use it", text)
	_ = cmd.Process.Signal(syscall.SIGHUP)
	wantRun(t.Context(), t, environment{}, "health --addr "+m[3], 0, "")
	_ = cmd.Process.Signal(syscall.SIGINT)
	assert.NoError(t, cmd.Wait()) // without the drain; a second signal would kill it

	discard := &server.Filter{Writer: io.Discard}
	st, env := memory.New(), &environment{terminal: true, stdout: discard, logger: slog.New(slog.DiscardHandler)}
	require.NoError(t, offerKey(t.Context(), env, st, "http://127.0.0.1/v1"))
	assert.Empty(t, example.Must(st.Keys(t.Context())), "keys, although only stderr is a terminal")
}
