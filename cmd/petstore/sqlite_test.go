package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/service"
)

// TestLastWordOnFile checks an error that says what was done, and the warning about an altered schema.
func TestLastWordOnFile(t *testing.T) {
	t.Parallel()
	broken, done := errors.New("broken"), fmt.Errorf("it was written, but %w", db.ErrUnsynced)
	var stderr strings.Builder
	env := &environment{logger: server.NewLogger(&server.Filter{Writer: &stderr}, slog.LevelInfo, false)}
	_ = env.store.Set("sqlite:pets.db")
	for want, report := range map[error]db.Report{done: {}, nil: {Altered: broken}} {
		work := func(string) (db.Report, error) { return report, want }
		assert.Equal(t, want, onFile(env, new(cobra.Command), io.Discard, "", work).RunE(nil, nil))
	}
	assert.Contains(t, stderr.String(), "broken", "the warning")
}

// TestAdvice checks that the commands in the advice exist.
func TestAdvice(t *testing.T) {
	t.Parallel()
	root := rootCommand(&environment{})
	for about, text := range advice {
		if _, command, found := strings.Cut(text, ": "+service.Name+" "); found {
			c, _, err := root.Find(strings.Fields(command)[:1])
			assert.True(t, err == nil && c != root, "%v: got the advice %q, want a command of the program", about, text)
		}
	}
}

// TestRoot checks that root's commands create no file in a folder that others may change, also through a link.
func TestRoot(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, errors.Join(os.Mkdir("theirs", 0o700), os.Symlink(dir+"/theirs", "other"),
		os.Symlink("other", "link"), os.Symlink("loop", "loop")))
	root := environment{root: true}
	if os.Geteuid() == 0 {
		wantRun(t.Context(), t, root, "verify --store sqlite:loop", 1, "links")
		for mode, want := range map[os.FileMode]string{0o770: "chmod go-w", 0o702: "chmod go-w", 0o777 | os.ModeSticky: "no store"} {
			_ = os.Chmod("theirs", mode)
			wantRun(t.Context(), t, root, "backup x --store sqlite:link/x", 1, want)
		}
		_ = os.Chown("theirs", 65534, 65534)
	}
	for _, command := range []string{
		"serve", "keys create x", "keys list", "keys revoke x", "verify", "migrate", "backup x.db", "restore x.db",
	} {
		wantRun(t.Context(), t, root, command+" --store sqlite:link/pets.db", 1, "runuser -u ")
	}
	wantRun(t.Context(), t, root, "backup --store sqlite:/pets.db link/copy.db", 1, "runuser -u ")
	wantRun(t.Context(), t, root, "restore --store sqlite:/pets.db link/copy.db", 1, "runuser -u ")
	assert.Empty(t, example.Must(os.ReadDir("theirs")))
}

// TestUnreadFile is TestUnreadOutput for a command, and for a server whose file is moved.
func TestUnreadFile(t *testing.T) {
	t.Parallel()
	limit(t)
	file := filepath.Join(t.TempDir(), "pets.db")
	unread(t, "serve --drain 0s --store sqlite:"+file, serving, "1 after 12s", func(l pipes, _ func()) {
		require.NoError(t, os.Rename(file, file+"x"))
		go l.send(t, "POST", example.ListPath(), example.Body())
	})
	unread(t, "migrate --store sqlite:"+file+"y", "created a new store", "143 after 12s",
		func(_ pipes, stop func()) { stop() })
}
