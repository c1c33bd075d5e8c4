package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
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

// childEnv makes this test binary do one of works in a process that can be killed or given a
// failing disk, with paths as arguments. With nobodyEnv, a child of root runs as nobody.
const childEnv, nobodyEnv = "SQLITE_TEST_CHILD", "SQLITE_TEST_NOBODY"

const nobody = 65534

func TestMain(m *testing.M) {
	work, isChild := works[os.Getenv(childEnv)]
	if !isChild {
		os.Exit(m.Run())
	}
	if os.Getenv(nobodyEnv) != "" && os.Getuid() == 0 {
		_ = errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
	}
	if err := work(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child returns a command that does work, under the command in wrapper if there is one.
func child(t testing.TB, wrapper []string, work string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = slices.Concat(wrapper, []string{program}, args)
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Env = append(os.Environ(), childEnv+"="+work, "GORACE=atexit_sleep_ms=0")
	return c
}

// works are what a child can do. All but create only read the first argument, and print a number of notes.
var works = map[string]func(ctx context.Context, args []string) error{
	"create": createAll,
	"list": func(ctx context.Context, args []string) error {
		return schema.Read(ctx, args[0], func(conn Conn) error {
			notes, err := notesIn(conn)
			fmt.Print(len(notes))
			return err
		})
	},
	"verify": func(ctx context.Context, args []string) error { return report(schema.Verify(ctx, args[0])) },
	"backup": func(ctx context.Context, args []string) error {
		return report(schema.Backup(ctx, args[0], args[1], false))
	},
	"restore": func(ctx context.Context, args []string) error {
		return report(schema.Restore(ctx, args[1], args[0]))
	},
}

func report(r db.Report, err error) error {
	if len(r.Rows) > 0 {
		fmt.Print(r.Rows[0].Count)
	}
	return err
}

// createAll has several goroutines create as many notes each as the second argument says, and closes the
// database. With a third argument, it uses one goroutine, and exits without closing once a note is refused.
func createAll(ctx context.Context, names []string) error {
	runtime.LockOSThread() // for strace, which counts calls per thread
	d, err := schema.Open(ctx, names[0], db.Options{})
	if err != nil {
		return err
	}
	most, _ := strconv.Atoi(names[1])
	if len(names) > 2 { // "exit"
		if err := createMany(ctx, d, "alone", most); fault.KindOf(err) != fault.Unavailable {
			return fmt.Errorf("no note was refused: %w", err)
		}
		os.Exit(0)
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = createMany(ctx, d, fmt.Sprintf("%d/%d", os.Getpid(), i), most) })
	}
	wg.Wait()
	return errors.Join(append(errs, d.Close())...)
}

func createMany(ctx context.Context, d *DB, name string, most int) error {
	for n := range most {
		id, err := create(ctx, d, longText(name, n))
		if err != nil {
			return err
		}
		fmt.Println(id, n, name)
	}
	return nil
}

func create(ctx context.Context, d *DB, text string) (id int64, err error) {
	err = d.Write(ctx, func(conn Conn) error { return conn.Stmt(insertNote).QueryRow(text).Scan(&id) })
	return id, err
}

func mustCreate(t testing.TB, d *DB, texts ...string) (id int64) {
	t.Helper()
	for _, text := range texts {
		var err error
		if id, err = create(t.Context(), d, text); err != nil {
			t.Fatalf("create(%.40q): got error %v", text, err)
		}
	}
	return id
}

// longText returns the text of a note that may fill several pages.
func longText(name string, n int) string {
	return fmt.Sprint(name, "/", n, strings.Repeat("🐈", n%5*500))
}

// ledger holds the texts of notes by identifier.
type ledger map[int64]string

// read adds the next notes that createAll printed, at most n, and returns their number.
func (l ledger) read(t testing.TB, lines *bufio.Scanner, n int) (read int) {
	t.Helper()
	for ; read < n && lines.Scan(); read++ {
		var id int64
		var n int
		var name string
		if _, err := fmt.Sscan(lines.Text(), &id, &n, &name); err != nil {
			t.Fatalf("a line of the child: got %q, want three words", lines.Text())
		}
		if before, twice := l[id]; twice {
			t.Errorf("id %d: got it for %.40q and %q, want it once", id, before, name)
		}
		l[id] = longText(name, n)
	}
	return read
}

// check checks that the database at path holds all notes of the ledger and is sound.
func (l ledger) check(t testing.TB, path string) {
	t.Helper()
	d := open(t, path)
	stored, lost := walk(t, d), maps.Clone(l)
	maps.DeleteFunc(lost, func(id int64, text string) bool { return stored[id] == text })
	if len(lost) > 0 {
		t.Errorf("got %d of %d acknowledged notes lost or changed, want 0: %.300s", len(lost), len(l), fmt.Sprint(lost))
	}
	mustClose(t, d)
	if _, err := schema.Verify(t.Context(), path); err != nil {
		t.Errorf("Verify: got error %v", err)
	}
}

func walk(t testing.TB, d *DB) (all ledger) {
	t.Helper()
	err := d.Read(t.Context(), func(conn Conn) (err error) {
		all, err = notesIn(conn)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func notesIn(conn Conn) (all ledger, err error) {
	var notes []byte
	if err = conn.Stmt(selectNotes).QueryRow().Scan(&notes); err == nil {
		err = json.Unmarshal(notes, &all)
	}
	return all, err
}

func open(t testing.TB, path string) *DB {
	t.Helper()
	d, err := schema.Open(t.Context(), path, db.Options{})
	if err != nil {
		t.Fatalf("Open(%q): got error %v", path, err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "notes.db") }

// atRest returns the path of a closed database that holds notes with these texts.
func atRest(t testing.TB, texts ...string) string {
	t.Helper()
	path := newPath(t)
	d := open(t, path)
	mustCreate(t, d, texts...)
	mustClose(t, d)
	return path
}

// killed returns the path and the notes of a database whose process was killed.
func killed(t testing.TB) (string, ledger) {
	t.Helper()
	used := newPath(t)
	d := open(t, used)
	for n := range 20 {
		mustCreate(t, d, longText("killed", n))
	}
	return copyOf(t, used), walk(t, d)
}

// copyOf returns the path of a copy of a database in use, as a killed process leaves it.
func copyOf(t testing.TB, used string) string {
	t.Helper()
	path := newPath(t)
	for suffix, content := range contents(t, used) {
		mustWrite(t, path+suffix, content)
	}
	return path
}

// backupOf returns the path of a backup that holds notes with these texts.
func backupOf(t testing.TB, texts ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "backup.db")
	mustBackup(t, atRest(t, texts...), to)
	return to
}

func mustBackup(t testing.TB, path, to string) db.Report {
	t.Helper()
	r, err := schema.Backup(t.Context(), path, to, false)
	if err != nil {
		t.Fatalf("Backup: got error %v", err)
	}
	return r
}

func mustClose(t testing.TB, d *DB) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("Close: got error %v", err)
	}
}

func wantError(t testing.TB, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got error %v, want %q in it", what, err, want)
	}
}

// wantNotes checks that the file is sound and holds n notes.
func wantNotes(t testing.TB, path string, n int64) {
	t.Helper()
	if r, err := schema.Verify(t.Context(), path); err != nil || r.Rows[0].Count != n {
		t.Errorf("Verify of %s: got %+v, error %v, want %d notes", path, r, err, n)
	}
}

// wantFiles checks that the folder of path has exactly these files, and that others may not open ours.
func wantFiles(t testing.TB, path string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
		info, err := e.Info()
		if ours, _ := filepath.Match("notes.db*", e.Name()); ours && (err != nil || info.Mode() != 0o600) && info.Mode().Type() == 0 {
			t.Errorf("%s: got %v, error %v, want mode 600", e.Name(), info, err)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("files: got %q, error %v, want %q", got, err, want)
	}
}

// contents returns the content of each file whose name begins with path, by the rest of its name.
func contents(t testing.TB, path string) map[string]string {
	t.Helper()
	names, _ := filepath.Glob(path + "*")
	all := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(name, path)] = string(content)
	}
	return all
}

// wantUnchanged checks that f leaves the database at path and its log as they are.
func wantUnchanged(t testing.TB, path string, f func()) {
	t.Helper()
	before := contents(t, path)
	f()
	after := contents(t, path)
	for _, suffix := range []string{lockSuffix, indexSuffix} { // may be new or changed
		after[suffix], before[suffix] = "", ""
	}
	if !maps.Equal(after, before) {
		t.Errorf("%s: got the files changed, want them as they were", path)
	}
}

// gauge returns the value of a metric of the database, or 0 if there is none.
func gauge(t testing.TB, d *DB, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(d)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].GetGauge().GetValue()
		}
	}
	return 0
}

// sqlOn runs SQL on a file as another tool would.
func sqlOn(t testing.TB, path, query string, args ...any) {
	t.Helper()
	conn := connect(path, url.Values{})
	_, err := conn.ExecContext(t.Context(), query, args...)
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
