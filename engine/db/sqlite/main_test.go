package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db"
)

const firstVersion = `-- +goose Up
CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL CHECK (text <> 'wrong')) STRICT;
CREATE INDEX notes_by_text ON notes (text);
CREATE TABLE tags (name TEXT PRIMARY KEY NOT NULL) STRICT;
`

// schema is what the databases of these tests hold.
var schema = Schema{
	Migrations: fstest.MapFS{"00001_schema.sql": {Data: []byte(firstVersion)}},
	Tables:     []string{"notes", "tags"},
}

var (
	insertNote  = schema.Statement("INSERT INTO notes (text) VALUES (?) RETURNING id")
	selectNotes = schema.Statement("SELECT json_group_object(id, text) FROM notes")
	insertTag   = schema.Statement("INSERT INTO tags (name) VALUES (?)")
	selectTags  = schema.Statement("SELECT name FROM tags")
)

// Variables that make this test binary a child, which does one of works and can be killed or given a failing disk.
const (
	childEnv  = "SQLITE_TEST_CHILD"
	nobodyEnv = "SQLITE_TEST_NOBODY" // a child of root runs as nobody
	nobody    = 65534
)

func TestMain(m *testing.M) {
	work := works[os.Getenv(childEnv)]
	if work == nil {
		os.Exit(m.Run())
	}
	if os.Getenv(nobodyEnv) != "" && os.Getuid() == 0 {
		_ = errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
	}
	if err := work(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child returns a command that does work, under the command in wrapper if there is one.
func child(t testing.TB, wrapper []string, work string, args ...string) *exec.Cmd {
	program, err := os.Executable()
	require.NoError(t, err)
	args = slices.Concat(wrapper, []string{program}, args)
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Env = append(os.Environ(), childEnv+"="+work, "GORACE=atexit_sleep_ms=0")
	return c
}

// wantRun runs a command and checks whether it succeeds, and that its output contains want.
func wantRun(t testing.TB, c *exec.Cmd, succeeds bool, want string) {
	out, err := c.CombinedOutput()
	ok := (err == nil) == succeeds && strings.Contains(string(out), want)
	assert.True(t, ok, "%s: got %s, error %v, want %q", c, out, err, want)
}

// works are what a child can do. All but create only read the first argument, and print a number of notes.
var works = map[string]func(ctx context.Context, args []string) error{
	"create": createAll,
	"list": func(ctx context.Context, args []string) error {
		var notes ledger
		err := schema.Read(ctx, args[0], notes.scan)
		fmt.Print(len(notes))
		return err
	},
	"verify": func(ctx context.Context, args []string) error { return report(schema.Verify(ctx, args[0])) },
	"backup": func(ctx context.Context, args []string) error {
		return report(schema.Backup(ctx, args[0], args[1], false))
	},
	"restore": func(ctx context.Context, args []string) error { return report(schema.Restore(ctx, args[1], args[0])) },
}

func report(r db.Report, err error) error {
	if err == nil {
		fmt.Print(r.Rows[0].Count)
	}
	return err
}

// limited returns the error of f. If f takes long, because a lock or a signal is missing, it ends the tests.
func limited(f func() error) error {
	defer time.AfterFunc(10*time.Second, func() { panic("a call has not returned for 10 s") }).Stop()
	return f()
}

func open(t testing.TB, path string) *DB {
	d, err := schema.Open(t.Context(), path, db.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = limited(d.Close) })
	return d
}

// insert inserts a note.
func insert(conn Conn) error { return conn.Stmt(insertNote).QueryRow("a").Scan(new(int64)) }

func create(ctx context.Context, d *DB, text string) (id int64, err error) {
	err = limited(func() error {
		return d.Write(ctx, func(conn Conn) error { return conn.Stmt(insertNote).QueryRow(text).Scan(&id) })
	})
	return id, err
}

// mustCreate creates notes and returns the identifier of the last one.
func mustCreate(t testing.TB, d *DB, texts ...string) (id int64) {
	for _, text := range texts {
		var err error
		id, err = create(t.Context(), d, text)
		require.NoError(t, err)
	}
	return id
}

// ledger holds the texts of notes by identifier.
type ledger map[int64]string

// check checks that the database at path is sound and holds all notes of the ledger, and returns how many it holds.
func (l ledger) check(t testing.TB, path string) int {
	d, stored := open(t, path), ledger{}
	require.NoError(t, d.Read(t.Context(), stored.scan)) // without a limit: there may be many, on a busy machine
	require.NoError(t, limited(d.Close))
	for id, text := range l {
		got := stored[id]
		require.True(t, got == text, "note %d of %d acknowledged: got %.40q, want %.40q", id, len(l), got, text)
	}
	_, err := schema.Verify(t.Context(), path)
	require.NoError(t, err)
	return len(stored)
}

func walk(t testing.TB, d *DB) (all ledger) {
	require.NoError(t, limited(func() error { return d.Read(t.Context(), all.scan) }))
	return all
}

// scan reads all notes.
func (l *ledger) scan(conn Conn) error {
	var notes []byte
	if err := conn.Stmt(selectNotes).QueryRow().Scan(&notes); err != nil {
		return err
	}
	return json.Unmarshal(notes, l)
}

// newPath returns the path of a database to make, in a folder that everybody may enter.
func newPath(t testing.TB) string {
	dir := t.TempDir()
	_ = os.Chmod(filepath.Dir(dir), 0o755)
	return filepath.Join(dir, "notes.db")
}

// atRest returns the path of a closed database that holds notes with these texts.
func atRest(t testing.TB, texts ...string) string {
	path := newPath(t)
	d := open(t, path)
	mustCreate(t, d, texts...)
	require.NoError(t, limited(d.Close))
	return path
}

// killed returns the path and the notes of a database whose process was killed.
func killed(t testing.TB) (string, ledger) {
	used := newPath(t)
	d := open(t, used)
	for n := range 20 {
		mustCreate(t, d, longText("killed", n))
	}
	return copyOf(t, used), walk(t, d)
}

// copyOf returns the path of a copy of a database in use, as a killed process leaves it.
func copyOf(t testing.TB, used string) string {
	path := newPath(t)
	for suffix, content := range contents(t, used) {
		mustWrite(t, path+suffix, content)
	}
	return path
}

// openErrors returns the errors of all that opens the database at path.
func openErrors(t testing.TB, path string) []error {
	_, open := schema.Open(t.Context(), path, db.Options{MustExist: true})
	read := schema.Read(t.Context(), path, new(ledger).scan)
	_, verify := schema.Verify(t.Context(), path)
	_, backup := schema.Backup(t.Context(), path, newPath(t), false)
	_, restore := schema.Restore(t.Context(), newPath(t), path)
	return []error{open, read, verify, backup, restore}
}

// backupOf returns the path of a backup that holds notes with these texts.
func backupOf(t testing.TB, texts ...string) string {
	to := newPath(t)
	_, err := schema.Backup(t.Context(), atRest(t, texts...), to, false)
	require.NoError(t, err)
	return to
}

// wantNotes checks that the file is sound and holds n notes.
func wantNotes(t testing.TB, path string, n int64) {
	r, err := schema.Verify(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, n, r.Rows[0].Count, "notes in %s", path)
}

// wantFiles checks that the folder of path has exactly these files, and that others may not open them.
func wantFiles(t testing.TB, path string, want ...string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
		info, err := e.Info()
		require.NoError(t, err)
		if info.Mode().IsRegular() {
			assert.Equal(t, "-rw-------", info.Mode().String(), e.Name())
		}
	}
	assert.Equal(t, want, got, "files beside %s", path)
}

// contents returns the content of each file whose name begins with path, by the rest of its name.
func contents(t testing.TB, path string) map[string]string {
	names, _ := filepath.Glob(path + "*")
	all := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		all[strings.TrimPrefix(name, path)] = string(content)
	}
	return all
}

// wantUnchanged checks that f leaves the database at path and its log as they are.
func wantUnchanged(t testing.TB, path string, f func()) {
	before := contents(t, path)
	f()
	after := contents(t, path)
	for _, suffix := range []string{lockSuffix, indexSuffix} { // may be new or changed
		after[suffix], before[suffix] = "", ""
	}
	assert.True(t, maps.Equal(after, before), "%s: got the files changed, want them as they were", path)
}

// sqlOn runs SQL on a file as another tool would.
func sqlOn(t testing.TB, path, query string) {
	conn := connect(path, url.Values{})
	_, err := conn.Exec(query)
	require.NoError(t, errors.Join(err, conn.Close()))
}

func mustWrite(t testing.TB, path, content string) {
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}
