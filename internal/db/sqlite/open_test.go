package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/fault"
)

func TestPaths(t *testing.T) {
	for _, name := range []string{"with spaces.db", "100%.db", "%41%00.db", "a?mode=memory", "#1.db", "a&b=c;d", "file:x", "ünï 🐈", `back\slash`, `"quotes'`, "+"} {
		path := filepath.Join(t.TempDir(), name)
		for i := range 2 {
			d := open(t, path)
			if got := len(walk(t, d)); got != i {
				t.Errorf("%q: got %d notes, want %d", name, got, i)
			}
			mustCreate(t, d, "a")
			mustClose(t, d)
			wantFiles(t, path, name, name+"-lock", name+"-shm", name+"-wal")
		}
	}
}

func TestOpenRejects(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("texts"), strings.Repeat("all my notes\n", 1000))
	mustWrite(t, in("empty"), "")
	sqlOn(t, in("songs"), "CREATE TABLE songs (title TEXT)")
	sqlOn(t, in("other"), "CREATE TABLE notes (tune TEXT)")
	sqlOn(t, in("goose"), "CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER); CREATE TABLE songs (title TEXT)")
	for _, name := range []string{"one", "schemaless"} {
		mustClose(t, open(t, in(name)))
	}
	damageLeaf(t, in("schemaless"), "goose_db_version")
	links := []error{os.Link(in("one"), in("twin")), os.Symlink("gone", in("dangling"))}
	for i, suffix := range suffixes { // that somebody planted beside a database
		links = append(links, os.Symlink("planted", in(fmt.Sprint(i))+suffix))
	}
	if err := errors.Join(links...); err != nil {
		t.Fatal(err)
	}
	const beside = " beside it is not a regular file"
	for name, want := range map[string]string{"twin": "has several names", "0": "0-wal" + beside} {
		_, err := schema.Verify(t.Context(), in(name))
		wantError(t, "Verify", err, want)
		_, err = schema.Restore(t.Context(), in(name), backupOf(t, "a"), true)
		wantError(t, "Restore", err, want)
	}
	for _, c := range []struct {
		path, want string
		mustExist  bool
	}{
		{path: "", want: "not a file name"},
		{path: ":memory:", want: "not a file name"},
		{path: "-", want: "./- for one called -"},
		{path: dir, want: "is not a regular file"},
		{path: in("texts"), want: "is not an SQLite database"},
		{path: in("missing/notes.db"), want: "its folder does not exist"},
		{path: in("songs"), want: "belongs to another program and was not changed"},
		{path: in("other"), want: "belongs to another program and was not changed"},
		{path: in("goose"), want: "belongs to another program and was not changed"},
		{path: in("songs-wal"), want: "a name that ends in -wal is that of a file of a store"},
		{path: in("songs-lock"), want: "a name that ends in -lock"},
		{path: in("twin"), want: "has several names (hard links)"},
		{path: in("dangling"), want: "is a symbolic link to nothing"},
		{path: in("schemaless"), want: "is damaged"},
		{path: in("0"), want: "0-wal" + beside},
		{path: in("1"), want: "1-shm" + beside},
		{path: in("2"), want: "2-lock" + beside},
		{path: in("3"), want: "3-journal" + beside},
		{path: in("none"), want: "there is no store at " + in("none"), mustExist: true},
		{path: in("empty"), want: "there is no store at " + in("empty"), mustExist: true},
	} {
		before, _ := os.ReadFile(c.path)
		d, err := schema.Open(t.Context(), c.path, db.Options{MustExist: c.mustExist})
		if err == nil {
			_ = d.Close()
		}
		wantError(t, "Open", err, c.want)
		wantError(t, "Open", err, c.path)
		if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
			t.Errorf("%q: got the file changed, want it left alone", c.path)
		}
	}
	if _, err := newLock(in("2")).TryLock(); err == nil {
		t.Error("got the target of a link locked")
	}
	for _, name := range []string{"none", "planted"} {
		if _, err := os.Stat(in(name)); err == nil {
			t.Errorf("got the file %s made, want none", name)
		}
	}
}

// The connections have the settings that the promises of this package rest on, and Open fails
// if SQLite does not take one.
func TestStart(t *testing.T) {
	d := open(t, newPath(t))
	for _, pragma := range []string{
		"journal_mode=wal", "synchronous=2", "wal_autocheckpoint=0", "foreign_keys=1", "busy_timeout=5000", "journal_size_limit=16777216",
	} {
		name, want, _ := strings.Cut(pragma, "=")
		if got, err := texts(t.Context(), d.writer, "PRAGMA "+name); err != nil || got[0] != want {
			t.Errorf("%s: got %s, error %v", pragma, got, err)
		}
	}
	err := d.Read(t.Context(), func(conn Conn) error {
		_, err := conn.Stmt(insertNote).Exec("a")
		return err
	})
	wantError(t, "a write in Read", err, "the database is read-only")
	used := toWrite
	defer func() { toWrite = used }()
	for _, pragma := range []string{"foreign_kyes=1", "synchronous=7"} {
		toWrite = url.Values{"mode": {"rw"}, "_pragma": {pragma}}
		_, err := schema.Open(t.Context(), newPath(t), db.Options{})
		wantError(t, "Open", err, "SQLite did not take the setting "+pragma)
	}
}

// TestMigrate goes up to a second version of the schema. Everything stays, and a program
// that knows only the first refuses the second.
func TestMigrate(t *testing.T) {
	path := newPath(t)
	d := open(t, path)
	mustCreate(t, d, "a", "b", "c")
	second := schema
	second.Tables = append(second.Tables, "albums")
	second.Statement("SELECT colour FROM notes")
	second.Migrations = fstest.MapFS{
		"00001_schema.sql": {Data: []byte(firstVersion)},
		"00002_colour.sql": {Data: []byte("-- +goose Up\nALTER TABLE notes ADD COLUMN colour TEXT NOT NULL DEFAULT '';\nCREATE TABLE albums (name TEXT);\n")},
	}
	if err := second.Read(t.Context(), path, nil); !errors.Is(err, db.ErrOutdated) {
		t.Errorf("Read: got error %v, want ErrOutdated", err)
	}
	if r, err := second.Verify(t.Context(), path); err != nil || len(r.Rows) != 2 {
		t.Errorf("Verify: got %+v, error %v, want the tables of the first version", r, err)
	}
	for _, want := range [][2]int64{{1, 2}, {2, 2}} { // first while another process has it
		from, to, err := second.Migrate(t.Context(), path, nil)
		if err != nil || [2]int64{from, to} != want {
			t.Errorf("Migrate: got %d, %d, error %v, want %v", from, to, err, want)
		}
	}
	if got, want := walk(t, d), (ledger{1: "a", 2: "b", 3: "c"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mustClose(t, d)
	_, openErr := schema.Open(t.Context(), path, db.Options{})
	readErr := schema.Read(t.Context(), path, nil)
	_, verifyErr := schema.Verify(t.Context(), path)
	for _, err := range []error{openErr, readErr, verifyErr} {
		if !errors.Is(err, db.ErrNewer) {
			t.Errorf("a newer schema: got error %v, want ErrNewer", err)
		}
	}
}

// Open does not touch the log while another program, which does not know this package's
// lock, writes.
func TestOtherProgram(t *testing.T) {
	patient := toWrite
	defer func() { toWrite = patient }()
	toWrite = url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}
	path := atRest(t)
	shell := connect(path, toWrite)
	defer shell.Close()
	tx, err := shell.Begin()
	if err == nil {
		_, err = tx.Exec("INSERT INTO notes (text) VALUES ('a')")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = schema.Open(t.Context(), path, db.Options{})
	wantError(t, "Open", err, "another program has locked it")
	err = tx.Commit()
	if got := len(walk(t, open(t, path))); got != 1 || err != nil {
		t.Errorf("got %d notes, error %v, want 1", got, err)
	}
}

// After a failed fsync nothing copies the log, and Close tells the failure if nobody was told.
func TestFailure(t *testing.T) {
	path := newPath(t)
	d := open(t, path)
	mustCreate(t, d, "a")
	before := contents(t, path)
	_ = d.faults.fail(errors.New("an fsync failed"))
	d.checkpoint(0)
	_, err := create(t.Context(), d, "late")
	wantError(t, "create", err, "an fsync failed")
	wantError(t, "Close", d.Close(), "an fsync failed")
	if after := contents(t, path); after[""] != before[""] || after["-wal"] != before["-wal"] {
		t.Error("got the file or its log changed, want both as they were")
	}
}

// TestReplacedFile makes an operator's mistakes with a database in use, opened by a symbolic
// link. A read, Ping, a write or its commit is the first to notice. An emptied file must not
// be reported as damaged.
func TestReplacedFile(t *testing.T) {
	const want = "was removed or replaced while it was in use"
	for what, c := range map[string]struct {
		replace func(path, link string) error
		reopen  string // the error, or "" if the acknowledged note must be there again
	}{
		"log removed":   {func(path, _ string) error { return os.Remove(path + "-wal") }, ""},
		"index removed": {func(path, _ string) error { return os.Remove(path + "-shm") }, ""},
		"lock removed":  {func(path, _ string) error { return os.Remove(path + "-lock") }, ""},
		"link changed":  {func(path, link string) error { return errors.Join(os.Remove(link), os.Symlink(path+"2", link)) }, ""},
		"file moved":    {func(path, _ string) error { return os.Rename(path, path+"2") }, "is missing or empty, but its log"},
		"file emptied":  {func(path, _ string) error { return os.Truncate(path, 0) }, "is missing or empty, but its log"},
		"file replaced": {func(path, _ string) error { return os.Rename(backupOf(t, "other"), path) }, "is a backup, but its log"},
	} {
		for _, first := range []string{"read", "Ping", "write", "commit"} {
			path, link := atRest(t), newPath(t)
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			d := open(t, filepath.Dir(link)+"/none/../notes.db")
			before := mustCreate(t, d, "before")
			wantFiles(t, link, "notes.db")
			var err error
			if first == "commit" {
				err = d.Write(t.Context(), func(Conn) error { return c.replace(path, link) })
				wantError(t, what+": commit", err, want)
			} else if err = c.replace(path, link); err != nil {
				t.Fatal(err)
			}
			switch first {
			case "read":
				_ = d.Read(t.Context(), readAll)
			case "Ping":
				wantError(t, what+": Ping", d.Ping(t.Context()), want)
			}
			_, err = create(t.Context(), d, "after")
			wantError(t, what+": create", err, want)
			if fault.KindOf(err) != fault.Internal {
				t.Errorf("%s: got %v, want internal", what, fault.KindOf(err))
			}
			wantError(t, what+": Ping", d.Ping(t.Context()), want)
			if len(d.Failed()) == 0 || gauge(t, d, "sqlite_damaged") != 0 {
				t.Fatalf("%s: got %d failures and sqlite_damaged %v, want 1 and 0", what, len(d.Failed()), gauge(t, d, "sqlite_damaged"))
			}
			wantError(t, what+": Failed", <-d.Failed(), want)
			for range d.readers { // the file that is there now must not be touched
				_ = d.Read(t.Context(), readAll)
			}
			mustClose(t, d)
			if c.reopen != "" {
				_, err := schema.Open(t.Context(), path, db.Options{})
				wantError(t, what+": Open", err, c.reopen)
			} else if got := walk(t, open(t, path))[before]; got != "before" {
				t.Errorf("%s: got %q, want the note", what, got)
			}
		}
	}
}

// damageLeaf overwrites the last leaf page of a table or an index.
func damageLeaf(t testing.TB, path, name string) {
	t.Helper()
	conn := connect(path, url.Values{})
	var page int64
	err := conn.QueryRow("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", name).Scan(&page)
	content, readErr := os.ReadFile(path)
	if err := errors.Join(err, readErr, conn.Close()); err != nil {
		t.Fatal(err)
	}
	copy(content[(page-1)*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	mustWrite(t, path, string(content))
}

// TestDamage checks that a damaged page, whether a read or a write finds it first,
// ends all writing but not the process, and that sound pages are read.
func TestDamage(t *testing.T) {
	path := atRest(t, "a")
	damageLeaf(t, path, "tags")
	for what, call := range map[string]func(*DB, context.Context, func(Conn) error) error{"read": (*DB).Read, "write": (*DB).Write} {
		d, log := openLogged(t, path)
		err := call(d, t.Context(), func(conn Conn) error { return conn.Stmt(selectTags).QueryRow().Scan(new(string)) })
		wantError(t, what, err, "malformed")
		_, err = create(t.Context(), d, "late")
		wantError(t, what, err, "the database is damaged")
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: got error %v, want unavailable: nothing was done", what, err)
		}
		if err := d.Ping(t.Context()); err != nil || len(d.Failed()) > 0 || len(walk(t, d)) != 1 {
			t.Errorf("%s: got error %v, %d failures and notes %v, want only one note", what, err, len(d.Failed()), walk(t, d))
		}
		if got := gauge(t, d, "sqlite_damaged"); got != 1 {
			t.Errorf("%s: sqlite_damaged: got %v, want 1", what, got)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=ERROR msg="the database is damaged"`) {
			t.Errorf("%s: log: got %q, want one line", what, got)
		}
		mustClose(t, d)
	}
}
