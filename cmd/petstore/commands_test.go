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
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

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

// at returns the address of a store.
func at(t *testing.T, text string) (a address.Address) {
	t.Helper()
	if err := a.Set(text); err != nil {
		t.Fatal(err)
	}
	return a
}

// wantExit sends a process a signal, unless it ends by itself, and checks how it ends: with
// a status or, as in a shell, 128 and the number of the signal that killed it.
func wantExit(t *testing.T, cmd *exec.Cmd, signal syscall.Signal, want int) {
	t.Helper()
	if signal != 0 {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the exit status is checked below
	got := cmd.ProcessState.ExitCode()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		got = 128 + int(s.Signal())
	}
	if got != want {
		t.Errorf("exit status: got %d, want %d", got, want)
	}
}

// TestLogWithoutReader checks that a server goes on if the reader of its log is gone.
func TestLogWithoutReader(t *testing.T) {
	t.Parallel()
	s := startLogged(t, "--store", "memory:")
	_ = s.log.Close()
	if _, got, err := send("GET", s.address+"/v1/pets", fixedKey, ""); got != "[]\n" {
		t.Errorf("got %s, error %v, want []", got, err)
	}
	wantExit(t, s.Cmd, syscall.SIGTERM, 0)
}

// TestSecondSignal checks that a second signal does not wait for the drain.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := startLogged(t, "--store", "memory:", "--drain", "1h")
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = s.rest.ReadString('\n') // "stopping"
	wantExit(t, s.Cmd, syscall.SIGTERM, 128+int(syscall.SIGTERM))
}

// TestSockets checks that a server takes all sockets that systemd passes, and refuses an
// address of its own beside them.
func TestSockets(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	var files []*os.File
	var addrs []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := l.(*net.TCPListener).File()
		if err := errors.Join(err, l.Close()); err != nil { // file is another name of it
			t.Fatal(err)
		}
		defer file.Close()
		files, addrs = append(files, file), append(addrs, l.Addr().String())
	}
	command := func(args string) *exec.Cmd { // systemd sets the process, which exec keeps
		cmd := exec.CommandContext(ctx, "sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=2 exec petstore serve --store memory: "+args)
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), keysVariable+"="+fixedKey), files
		return cmd
	}
	refused := command("--addr 127.0.0.1:0")
	if out, _ := refused.CombinedOutput(); refused.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "omit --addr") {
		t.Errorf("with --addr: got %v, %s, want status 2", refused.ProcessState, out)
	}
	s, err := start(command("--drain 0s"), io.Discard)
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
	wantExit(t, s.Cmd, syscall.SIGTERM, 0)
}

// pipes is a listener whose connections are pipes.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// send sends a request on a new connection, and returns the response as text.
func (p pipes) send(line, body string) string {
	client, server := net.Pipe()
	p <- server
	defer client.Close()
	_, _ = fmt.Fprintf(client, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", line, fixedKey, len(body), body)
	response, _ := io.ReadAll(client)
	return string(response)
}

// fading is a pipe that is read until a text comes, and then no more until it is closed.
type fading struct {
	until        string
	came, closed chan struct{}
}

func (f *fading) Write(text []byte) (int, error) {
	select {
	case <-f.came:
		<-f.closed
	default:
		if bytes.Contains(text, []byte(f.until)) {
			close(f.came)
		}
	}
	return len(text), nil
}

// TestUnreadOutput checks that a process ends although nobody reads what it prints. A server
// answers probes meanwhile, and says that it is not ready.
func TestUnreadOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args, until string
		cause       error
		want        int
	}{
		"a server that is stopped": {"serve --drain 0s", `"msg":"serving"`, server.Interrupted{Signal: syscall.SIGTERM}, 1},
		"a server that fails":      {"serve --drain 0s", `"msg":"serving"`, nil, 1},
		"a command":                {"keys create x", "created a new store", server.Interrupted{Signal: syscall.SIGTERM}, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, conns, ended := filepath.Join(t.TempDir(), "pets.db"), make(pipes), make(chan int, 2)
			out := &fading{c.until, make(chan struct{}), make(chan struct{})}
			env := testEnvironment(out)
			env.stdout, env.stopTime = env.stderr, 10*time.Millisecond
			env.sockets = []net.Listener{conns}
			env.exit = func(status int) { ended <- status }
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			returned := make(chan int)
			go func() { returned <- run(ctx, append(strings.Fields(c.args), "--store", "sqlite:"+file), env) }()
			<-out.came
			if strings.HasPrefix(c.args, "serve") {
				go conns.send("GET /v1/pets", "") // waits for the log
				for ready := ""; !strings.Contains(ready, "the log cannot be written"); ready = conns.send("GET /readyz", "") {
					if live := conns.send("GET /livez", ""); !strings.Contains(live, " 200 OK") {
						t.Fatalf("/livez: got %s, want 200", live)
					}
					env.stderr.mu.Lock()
					if !env.stderr.since.IsZero() {
						env.stderr.since = time.Now().Add(-6 * time.Second)
					}
					env.stderr.mu.Unlock()
				}
			}
			if c.cause != nil {
				cancel(c.cause)
			} else {
				if err := os.Rename(file, file+"x"); err != nil {
					t.Fatal(err)
				}
				go conns.send("POST /v1/pets", `{"name":"Rex","categoryId":1}`)
			}
			if got := <-ended; got != c.want {
				t.Errorf("got status %d, want %d", got, c.want)
			}
			close(out.closed)
			<-returned
		})
	}
}

// TestTerminal checks that a server at a terminal creates a key if there is none.
func TestTerminal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	cmd := exec.CommandContext(ctx, service.Name, "serve", "--addr", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
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
	wantExit(t, cmd, syscall.SIGINT, 0) // without the drain
}

// TestAdvice checks that the commands in the advice exist.
func TestAdvice(t *testing.T) {
	t.Parallel()
	root := rootCommand(&environment{})
	for _, a := range advice {
		if _, command, found := strings.Cut(a.text, ": "+service.Name+" "); found {
			if c, _, err := root.Find(strings.Fields(command)[:1]); err != nil || c == root {
				t.Errorf("%v: got the advice %q, want a command of the program", a.about, a.text)
			}
		}
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		showProgress(ctx, &stderr)
		if want := "working for 2s\nworking for 4s\n"; stderr.String() != want {
			t.Errorf("got %q, want %q", &stderr, want)
		}
	})
}

func TestPrintKeys(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printKeys(&environment{stdout: &printer{Writer: &out}}, []keys.Key{{Name: "a\nb\tc\fd\xffe\xff"}})
	if want := `a\u000ab\u0009c\u000cd` + "\ufffde\ufffd\n"; err != nil || !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %s, error %v, want %s", &out, err, want)
	}
}

// TestOddSockets checks that sockets which cannot be served are refused.
func TestOddSockets(t *testing.T) {
	t.Parallel()
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	for _, l := range []net.Listener{nil, local} { // nil is one for datagrams
		var out bytes.Buffer
		env := testEnvironment(&out)
		env.sockets = []net.Listener{l}
		if got := run(t.Context(), []string{"serve", "--store", "memory:"}, env); got != 2 || !strings.Contains(out.String(), "not of TCP") {
			t.Errorf("%T: got %d, %s, want 2", l, got, &out)
		}
	}
}

// TestLastWord checks that a command that failed says whether something was done.
func TestLastWord(t *testing.T) {
	t.Parallel()
	broken, locked := errors.New("broken"), fault.Wrap(fault.Unavailable, errors.New("locked"))
	change := func(err error) error {
		env := &environment{store: at(t, "memory:")}
		return changeKey(t.Context(), env, db.Options{}, "created", func(keys.Store) error { return err })
	}
	work := func(r db.Report) error {
		env := &environment{store: at(t, "sqlite:pets.db")}
		return upkeep(env, nil, "", func(*store.Files, string) (db.Report, error) { return r, broken })
	}
	for want, err := range map[string]error{
		"locked; no key was created": change(locked),
		"broken; petstore keys list --store memory: shows whether the key was created": change(broken),
		"broken; nothing was changed": work(db.Report{}),
		"broken":                      work(db.Report{Path: "copy.db"}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// testEnvironment returns an environment with a fixed key.
func testEnvironment(stderr io.Writer) *environment {
	return &environment{
		variables: map[string]string{keysVariable: fixedKey},
		stdout:    &printer{Writer: io.Discard}, stderr: &printer{Writer: stderr},
		exit: func(int) {},
	}
}

// runHere runs a command in this process, of root or not, and returns its exit status and
// its errors.
func runHere(ctx context.Context, root bool, args ...string) (status int, stderr string) {
	var out bytes.Buffer
	env := testEnvironment(&out)
	env.root = root
	status = run(ctx, args, env)
	return status, out.String()
}

// TestRoot checks that root is refused where the folder of a store or of a backup belongs to
// another user, also behind a link, and touches nothing.
func TestRoot(t *testing.T) {
	t.Parallel()
	theirs := filepath.Join(t.TempDir(), "theirs")
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(theirs, 0o700), os.Symlink(theirs, link)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(theirs, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	path, own := filepath.Join(link, "pets.db"), filepath.Join("/", "pets.db")
	for _, args := range [][]string{
		{"serve"}, {"keys", "create", "x"}, {"keys", "list"}, {"keys", "revoke", "x"}, {"verify"}, {"migrate"},
		{"backup", "x.db"}, {"restore", "x.db"}, {"backup", "--store", "sqlite:" + own, path}, {"restore", "--store", "sqlite:" + own, path},
	} {
		if len(args) < 4 {
			args = append(args, "--store", "sqlite:"+path)
		}
		if got, stderr := runHere(t.Context(), true, args...); got != 1 || !strings.Contains(stderr, "runuser -u ") {
			t.Errorf("%v: got status %d, %s, want 1, and how to run it", args, got, stderr)
		}
	}
	if files, err := os.ReadDir(theirs); len(files) > 0 || err != nil {
		t.Errorf("got %v, error %v, want no files", files, err)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(server.Interrupted{Signal: syscall.SIGINT})
	got, stderr := runHere(ctx, false, "keys", "list", "--store", "sqlite:none.db")
	if got != 130 || !strings.HasPrefix(stderr, "petstore: interrupted: ") {
		t.Errorf("got status %d, %s, want 130, interrupted", got, stderr)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("path: got %s, want /readyz", r.URL.Path)
		}
		w.WriteHeader(status)
	})
	plainServer, secureServer := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plainServer.Close()
	defer secureServer.Close()
	plain, secure := plainServer.Listener.Addr().String(), secureServer.Listener.Addr().String()
	for _, c := range []struct {
		args   string
		answer int
		want   string // "" if it is ready
	}{
		{"--addr " + strings.TrimPrefix(plain, "127.0.0.1"), 200, ""},
		{"--addr " + plain, 503, "is not ready (status 503); its log says why"},
		{"--addr " + secure + " --tls-cert x.pem", 200, ""},
		{"--addr " + secure + " --tls-cert x.pem", 302, "is not ready (status 302)"},
		{"--addr " + secure, 200, "the server expects HTTPS; set --tls-cert"},
		{"--addr " + plain + " --tls-cert x.pem", 200, "no response: "},
		{"--addr 127.0.0.1:1 --tls-cert x.pem --admin-addr " + plain, 200, ""},
	} {
		status = c.answer
		got, stderr := runHere(t.Context(), false, append([]string{"health"}, strings.Fields(c.args)...)...)
		if (got == 0) != (c.want == "") || !strings.Contains(stderr, c.want) {
			t.Errorf("health %s, %d: got %d (%s), want %q", c.args, c.answer, got, stderr, c.want)
		}
	}
}
