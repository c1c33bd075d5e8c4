package main

import (
	"bufio"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"example.com/petstore/internal/service"
)

// TestTerminal checks that a server at a terminal creates a key if there is none.
func TestTerminal(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), service.Name, "serve", "--addr", "127.0.0.1:0")
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
	if err := errors.Join(cmd.Process.Signal(syscall.SIGINT), cmd.Wait()); err != nil { // without the drain
		t.Error(err)
	}
}
