package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a process whose input and output are a terminal.
type terminal struct {
	*exec.Cmd
	control *os.File

	mu   sync.Mutex
	text bytes.Buffer
}

func startAtTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	p := &terminal{Cmd: exec.Command("petstore", args...), control: control}
	p.Dir, p.Stdin, p.Stdout, p.Stderr = dir, tty, tty, tty
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := control.Read(b)
			p.mu.Lock()
			p.text.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

// expect waits until the terminal shows a match, and returns its last group.
func (p *terminal) expect(t *testing.T, pattern string) string {
	t.Helper()
	r := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(giveUp); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		match := r.FindStringSubmatch(p.text.String())
		p.mu.Unlock()
		if match != nil {
			return match[len(match)-1]
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Fatalf("terminal: got %q, want a match of %s", p.text.String(), pattern)
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
	r, err := http.NewRequest(http.MethodGet, address+"/v1/pets", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status: got %d, want 200", response.StatusCode)
	}
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
