package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
)

// TestAdvice checks that the commands in the advice exist.
func TestAdvice(t *testing.T) {
	t.Parallel()
	root := rootCommand(&environment{})
	for about, text := range advice {
		if _, command, found := strings.Cut(text, ": "+service.Name+" "); found {
			if c, _, err := root.Find(strings.Fields(command)[:1]); err != nil || c == root {
				t.Errorf("%v: got the advice %q, want a command of the program", about, text)
			}
		}
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	got, err := parseNetworks("127.0.0.1,10.0.0.0/8,::1")
	if want := "[127.0.0.1/32 10.0.0.0/8 ::1/128]"; fmt.Sprint(got) != want || err != nil {
		t.Errorf("got %v, error %v, want %s", got, err, want)
	}
}

func TestPrintKeys(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printKeys(&environment{stdout: &printer{Writer: &out}}, []keys.Key{{Name: "a\nb\tc\fd\xffe\xff"}})
	if want := "a b c\ufffdd\ufffde\ufffd\n"; err != nil || !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %s, error %v, want %s", &out, err, want)
	}
}

// TestLastWord checks what a command says if it is not known whether something was done.
func TestLastWord(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	env := new(environment)
	_ = env.store.Set("memory:")
	err := changeKey(t.Context(), env, db.Options{}, "created", func(keys.Store) error { return broken })
	if want := "broken; petstore keys list --store memory: shows whether"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// testEnvironment returns an environment with a fixed key.
func testEnvironment(stderr io.Writer) *environment {
	return &environment{
		variables: map[string]string{keysVariable: fixedKey},
		stdout:    &printer{Writer: io.Discard}, stderr: &printer{Writer: stderr},
		exitAfter: func(time.Duration, int) {},
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

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(server.Interrupted{Signal: syscall.SIGINT})
	got, stderr := runHere(ctx, false, "health")
	if got != 130 || !strings.HasPrefix(stderr, "petstore: interrupted: ") {
		t.Errorf("got status %d, %s, want 130, interrupted", got, stderr)
	}
}
