package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

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

func TestPrintKeys(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printKeys(&environment{stdout: &printer{Writer: &out}}, []keys.Key{{Name: "a\nb\tc\fd\xffe\xff"}})
	if want := "a b c\ufffdd\ufffde\ufffd\n"; err != nil || !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %s, error %v, want %s", &out, err, want)
	}
}

// TestLastWord checks what a command says if it is not known whether something was done, or
// if the error itself says what was.
func TestLastWord(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	env := new(environment)
	_ = env.store.Set("memory:")
	err := changeKey(t.Context(), env, db.Options{}, "created", func(keys.Store) error { return broken })
	if want := "broken; petstore keys list --store memory: shows whether"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	_ = env.store.Set("sqlite:pets.db")
	work := func(*store.Files, string, string) (db.Report, error) { return db.Report{Path: "copy.db"}, broken }
	if err := onFile(env, new(cobra.Command), io.Discard, "", work).RunE(nil, nil); err != broken {
		t.Errorf("got error %v, want %v", err, broken)
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
	theirStore, file := " --store sqlite:"+filepath.Join(link, "pets.db"), filepath.Join(link, "copy.db")
	for _, command := range []string{
		"serve" + theirStore, "keys create x" + theirStore, "keys list" + theirStore, "keys revoke x" + theirStore,
		"verify" + theirStore, "migrate" + theirStore, "backup x.db" + theirStore, "restore x.db" + theirStore,
		"backup --store sqlite:/pets.db " + file, "restore --store sqlite:/pets.db " + file,
	} {
		if got, stderr := runHere(t.Context(), true, strings.Fields(command)...); got != 1 || !strings.Contains(stderr, "runuser -u ") {
			t.Errorf("%s: got status %d, %s, want 1, and how to run it", command, got, stderr)
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
