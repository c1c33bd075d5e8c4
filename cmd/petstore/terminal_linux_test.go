package main

import (
	"bytes"
	"io"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a process whose input and output are a terminal.
type terminal struct {
	*exec.Cmd

	mu   sync.Mutex
	text bytes.Buffer
}

func startAtTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	p := &terminal{Cmd: exec.Command("petstore", args...)}
	p.Dir = dir
	control, err := pty.Start(p.Cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = control.Close(), p.Process.Kill() })
	go func() { _, _ = io.Copy(p, control) }()
	return p
}

func (p *terminal) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// expect waits until the terminal shows a match, and returns its last group.
func (p *terminal) expect(t *testing.T, pattern string) string {
	t.Helper()
	r, text := regexp.MustCompile(pattern), ""
	for deadline := time.Now().Add(giveUp); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		text = p.text.String()
		p.mu.Unlock()
		if match := r.FindStringSubmatch(text); match != nil {
			return match[len(match)-1]
		}
	}
	t.Fatalf("terminal: got %q, want a match of %s", text, pattern)
	return ""
}

func (p *terminal) wantStatus(t *testing.T, want int) {
	t.Helper()
	_ = p.Wait() // the exit status is checked below
	if got := p.ProcessState.ExitCode(); got != want {
		t.Errorf("exit status: got %d, want %d", got, want)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startAtTerminal(t, dir, "serve", "--addr", "127.0.0.1:0")
	address := p.expect(t, `msg=serving address=(http://\S+)/v1`)
	key := p.expect(t, `shown only this once:\s+(psk_\w+)\s`)
	p.expect(t, `curl -H 'Authorization: Bearer `+key+`' `+address+`/v1/pets`)
	if err := p.Process.Signal(syscall.SIGINT); err != nil { // without the drain
		t.Fatal(err)
	}
	p.wantStatus(t, 0)

	p = startAtTerminal(t, dir, "serve", "--addr", "127.0.0.1:0", "--drain", "1h")
	for _, text := range []string{`msg=serving`, `msg=stopping`} {
		p.expect(t, text)
		if err := p.Process.Signal(syscall.SIGTERM); err != nil { // the second does not wait for the drain
			t.Fatal(err)
		}
	}
	p.wantStatus(t, -1)
}
