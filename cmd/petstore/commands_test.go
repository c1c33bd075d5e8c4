package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
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

// wantExit sends a process a signal, unless it ends by itself, and checks how it ends.
func wantExit(t *testing.T, cmd *exec.Cmd, signal syscall.Signal, want int) {
	t.Helper()
	if signal != 0 {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the exit status is checked below
	if got := cmd.ProcessState.ExitCode(); got != want {
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
	wantExit(t, s.Cmd, syscall.SIGTERM, -1)
}

// TestBlockedLog checks that a server whose log is not read answers probes, says that it
// is not ready, and ends all the same. Requests that wait for the log have no response then.
func TestBlockedLog(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"a signal": syscall.SIGTERM, "a failure": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pets.db")
			s := startLogged(t, "--store", "sqlite:"+file)
			for range 20 { // more than the pipe holds
				go send("GET", s.address+"/"+strings.Repeat("x", 8000), "", "")
			}
			for ready := ""; !strings.Contains(ready, "the log cannot be written"); time.Sleep(50 * time.Millisecond) {
				live, _, err := send("GET", s.address+"/livez", "", "")
				if err != nil || live.StatusCode != 200 {
					t.Fatalf("/livez: got %v, error %v, want 200", live, err)
				}
				_, ready, _ = send("GET", s.address+"/readyz", "", "")
			}
			if signal == 0 {
				if err := os.Rename(file, file+"x"); err != nil {
					t.Fatal(err)
				}
				go send("POST", s.address+"/v1/pets", fixedKey, `{"name":"Rex","categoryId":1}`)
			}
			wantExit(t, s.Cmd, signal, 1)
		})
	}
}

// TestBlockedOutput checks that a command ends although nobody reads what it prints.
func TestBlockedOutput(t *testing.T) {
	t.Parallel()
	addr := at(t, "sqlite:"+filepath.Join(t.TempDir(), "pets.db"))
	st, err := addr.Open(t.Context(), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 { // more than the pipe holds
		if _, err := createKey(t.Context(), st, strings.Repeat("x", 100), false); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	cmd := exec.CommandContext(ctx, service.Name, "keys", "list", "--store", addr.String())
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, st.Close(), cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it prints
		t.Fatal(err)
	}
	wantExit(t, cmd, syscall.SIGTERM, 143)
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

// runHere runs a command in this process, of root or not, and returns its exit status and
// its errors.
func runHere(ctx context.Context, root bool, args ...string) (status int, stderr string) {
	var out bytes.Buffer
	env := &environment{
		getenv: func(string) string { return "" }, root: root,
		stdout: &printer{Writer: io.Discard}, stderr: &printer{Writer: &out}, exit: func(int) {},
	}
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
