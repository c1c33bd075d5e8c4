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
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
	"example.com/petstore/internal/store/sqlite"
)

// logged is a server whose log is a pipe.
type logged struct {
	*exec.Cmd
	log     io.ReadCloser // what follows the line "serving"
	address string
	key     string
}

const fixedKey = "0123456789abcdef"

func startLogged(t *testing.T, args ...string) logged {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, service.Name, append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "0s"}, args...)...)
	cmd.Env = append(os.Environ(), keysVariable+"="+fixedKey)
	log, err := cmd.StderrPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if address := servingLine.FindStringSubmatch(lines.Text()); address != nil {
			return logged{cmd, log, address[1], fixedKey}
		}
	}
	t.Fatal("the server did not start")
	return logged{}
}

// send returns the body of the response to a request with the key, or the error.
func (s logged) send(method, path, body string) string {
	r, err := http.NewRequest(method, s.address+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// TestLogWithoutReader checks that a server goes on if the reader of its log is gone.
func TestLogWithoutReader(t *testing.T) {
	t.Parallel()
	s := startLogged(t, "--store", "memory:")
	_ = s.log.Close()
	if got := s.send("GET", "/v1/pets", ""); got != "[]\n" {
		t.Errorf("got %s, want []", got)
	}
	if err := errors.Join(s.Process.Signal(syscall.SIGTERM), s.Wait()); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

// TestSecondSignal checks that a second signal does not wait for the drain.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := startLogged(t, "--store", "memory:", "--drain", "1h")
	lines := bufio.NewScanner(s.log)
	for range 2 {
		if err := s.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		lines.Scan() // "stopping", or the end
	}
	if err := s.Wait(); err == nil || s.ProcessState.ExitCode() != -1 {
		t.Errorf("got error %v, want the signal", err)
	}
}

// TestBlockedLog checks that a server whose log is not read says that it is not ready,
// and ends all the same. Requests that wait for the log have no response then.
func TestBlockedLog(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s logged, file string) error{
		"a signal": func(s logged, _ string) error { return s.Process.Signal(syscall.SIGTERM) },
		"a failure": func(s logged, file string) error {
			err := os.Rename(file, file+"x")
			go s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pets.db")
			s := startLogged(t, "--store", "sqlite:"+file)
			for range 20 { // more than the pipe holds
				go s.send("GET", "/"+strings.Repeat("x", 8000), "")
			}
			for !strings.Contains(s.send("GET", "/readyz", ""), "the log cannot be written") {
				time.Sleep(50 * time.Millisecond) // between tries
			}
			if err := end(s, file); err != nil {
				t.Fatal(err)
			}
			wantStopped(t, s)
		})
	}
}

// TestBlockedOutput checks that a command ends although nobody reads what it prints.
func TestBlockedOutput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pets.db")
	st, err := sqlite.Open(t.Context(), file, store.Options{})
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
	cmd := exec.CommandContext(ctx, service.Name, "keys", "list", "--store", "sqlite:"+file)
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, st.Close(), cmd.Start()); err != nil {
		t.Fatal(err)
	}
	_, err = out.Read(make([]byte, 1)) // it prints
	if err := errors.Join(err, cmd.Process.Signal(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit status is checked below
	if got := cmd.ProcessState.ExitCode(); got != 143 {
		t.Errorf("exit status: got %d, want 143", got)
	}
}

// wantStopped checks that a server ends by itself, and not successfully.
func wantStopped(t *testing.T, s logged) {
	t.Helper()
	_ = s.Wait() // the exit status is checked below
	if got := s.ProcessState.ExitCode(); got != 1 {
		t.Errorf("exit status: got %d, want 1", got)
	}
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		var copied atomic.Int64
		time.AfterFunc(3*time.Second, func() { copied.Store(7) })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		showProgress(ctx, &stderr, &copied)
		if want := "working for 2s\nworking for 4s, pets copied: 7\n"; stderr.String() != want {
			t.Errorf("got %q, want %q", &stderr, want)
		}
	})
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Zoë 🐕\t": "Zoë 🐕\t", "a\nb": `a\u000ab`, "\x1b[31mred": `\u001b[31mred`, "a\u202eb": `a\u202eb`, "'\r": `'\u000d`,
		"\x7f\u009b31m": `\u007f\u009b31m`, "\U000e0041": `\udb40\udc41`,
	} {
		if got := printable(text, "\t"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestLastWord checks that a command that failed says whether something was done.
func TestLastWord(t *testing.T) {
	t.Parallel()
	broken, locked := errors.New("broken"), &pets.Error{Kind: pets.Unavailable, Message: "locked"}
	change := func(err error) error {
		addr := address.Address{Kind: "memory"}
		return changeKey(t.Context(), &environment{}, addr, store.Options{}, "created", func(keys.Store) error { return err })
	}
	work := func(r sqlite.Report) error {
		addr := address.Address{Kind: "sqlite"}
		return upkeep(io.Discard, addr, "", func(string) (sqlite.Report, error) { return r, broken })
	}
	for want, err := range map[string]error{
		"locked; no key was created": change(locked),
		"broken; petstore keys list --store  shows whether the key was created": change(broken),
		"broken; nothing was changed":                                           work(sqlite.Report{}),
		"broken":                                                                work(sqlite.Report{Path: "copy.db"}),
		"locked; nothing was copied":                                            copyError(locked),
		"broken; either everything was copied or nothing: try again, since only an empty store is filled": copyError(broken),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(server.Interrupted{Signal: syscall.SIGINT})
	var stderr bytes.Buffer
	got := run(ctx, []string{"keys", "list", "--store", "sqlite:none.db"}, &environment{getenv: noVariables, stderr: &stderr})
	if got != 130 || !strings.HasPrefix(stderr.String(), "petstore: interrupted: ") {
		t.Errorf("got status %d, %s, want 130, interrupted", got, &stderr)
	}
}

func noVariables(string) string { return "" }

func TestHealth(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("path: got %s, want /readyz", r.URL.Path)
		}
		w.WriteHeader(status)
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer secure.Close()
	port := fmt.Sprint(":", plain.Listener.Addr().(*net.TCPAddr).Port)
	plainAddr, secureAddr := plain.Listener.Addr().String(), secure.Listener.Addr().String()
	for _, c := range []struct {
		args   []string
		answer int
		want   string // "" if it is ready
	}{
		{[]string{"--addr", port}, 200, ""},
		{[]string{"--addr", port}, 503, "is not ready (status 503); its log says why"},
		{[]string{"--addr", secureAddr, "--tls-cert", "x.pem"}, 200, ""},
		{[]string{"--addr", secureAddr, "--tls-cert", "x.pem"}, 302, "is not ready (status 302)"},
		{[]string{"--addr", secureAddr}, 200, "the server expects HTTPS; set --tls-cert"},
		{[]string{"--addr", plainAddr, "--tls-cert", "x.pem"}, 200, "no response: "},
		{[]string{"--addr", "127.0.0.1:1", "--tls-cert", "x.pem", "--admin-addr", plainAddr}, 200, ""},
	} {
		status = c.answer
		var stderr bytes.Buffer
		got := run(t.Context(), append([]string{"health"}, c.args...), &environment{getenv: noVariables, stderr: &stderr})
		if (got == 0) != (c.want == "") || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("health %v, %d: got %d (%s), want %q", c.args, c.answer, got, &stderr, c.want)
		}
	}
}
