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
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/sqlite"
)

// TestLogWithoutReader checks that a server goes on if nobody reads its log any more.
func TestLogWithoutReader(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	cmd := exec.CommandContext(ctx, service.Name, "serve", "--sandbox", "--addr", "127.0.0.1:0", "--drain", "0s")
	log, err := cmd.StderrPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	var address []string
	for lines := bufio.NewScanner(log); address == nil && lines.Scan(); {
		address = servingLine.FindStringSubmatch(lines.Text())
	}
	if address == nil {
		t.Fatal("the server did not start")
	}
	_ = log.Close()
	response, err := http.Get(address[1] + "/nothing")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

// TestAdvice checks that the commands in the advice exist and name the store.
func TestAdvice(t *testing.T) {
	t.Parallel()
	root := rootCommand(environment{}, nil)
	command := regexp.MustCompile(`: ` + service.Name + ` (\w+) .*--store sqlite:p.db$`)
	for _, a := range advice {
		got := advise(fmt.Errorf("start: %w", a.about), "sqlite:p.db").Error()
		if !strings.HasPrefix(got, "start: "+a.about.Error()+"; ") {
			t.Errorf("%v: got %q, want the error and advice", a.about, got)
		}
		if !strings.Contains(a.text, "STORE") {
			continue
		}
		m := command.FindStringSubmatch(got)
		if m == nil {
			t.Errorf("%v: got %q, want a command with --store", a.about, got)
		} else if c, _, err := root.Find(m[1:]); err != nil || c == root {
			t.Errorf("%v: got %q, want a command of the program", a.about, got)
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
		if want := "working for 2s\nworking for 4s, 7 pets so far\n"; stderr.String() != want {
			t.Errorf("got %q, want %q", &stderr, want)
		}
	})
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Zoë 🐕\n": "Zoë 🐕\n", "\x1b[31mred": `\u001b[31mred`, "a\u202eb": `a\u202eb`, "'\r": `'\u000d`,
		"\x7f\u009b31m": `\u007f\u009b31m`, "\U000e0041": `\udb40\udc41`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestLastWord checks that a failed write says whether it was done.
func TestLastWord(t *testing.T) {
	t.Parallel()
	broken, locked := errors.New("broken"), &pets.Error{Kind: pets.Unavailable, Message: "locked"}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(server.Interrupted{Signal: syscall.SIGINT})
	if got := run(ended, []string{"keys", "list", "--store", "sqlite:none.db"}, environment{getenv: os.Getenv, stderr: t.Output()}); got != 130 {
		t.Errorf("keys list: got status %d, want 130", got)
	}
	for want, got := range map[string]error{
		"locked; no key was created": keyError(t.Context(), locked, "created", "sqlite:x"),
		"broken; petstore keys list --store sqlite:x shows whether the key was revoked": keyError(t.Context(), broken, "revoked", "sqlite:x"),
		"interrupted; no key was created":                                               keyError(ended, locked, "created", "sqlite:x"),
	} {
		if got.Error() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestUpkeepOutcome checks that the last word of an interrupted command is true.
func TestUpkeepOutcome(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	for want, c := range map[string]struct {
		report sqlite.Report
		err    error
	}{
		"interrupted; nothing was changed":         {sqlite.Report{}, errors.New("canceled")},
		"interrupted; the backup is complete, but": {sqlite.Report{Path: "copy.db"}, errors.New("the backup is complete, but")},
		"interrupted; it is damaged":               {sqlite.Report{}, fmt.Errorf("it %w", sqlite.ErrDamaged)},
		"<nil>":                                    {sqlite.Report{Path: "copy.db"}, nil},
	} {
		err := upkeep(ended, io.Discard, "sqlite:x", "", func(string) (sqlite.Report, error) { return c.report, c.err })
		if got := fmt.Sprint(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
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
		got := run(t.Context(), append([]string{"health"}, c.args...), environment{getenv: func(string) string { return "" }, stderr: &stderr})
		if (got == 0) != (c.want == "") || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("health %v, %d: got %d (%s), want %q", c.args, c.answer, got, &stderr, c.want)
		}
	}
}
