package sqlite

import (
	"bytes"
	"cmp"
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
	"testing/synctest"
	"time"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
)

func TestPaths(t *testing.T) {
	for _, name := range []string{"with spaces.db", "100%.db", "%41%00.db", "a?mode=memory", "#1.db", "a&b=c;d", "file:x", "ünï 🐈", `back\slash`, `"quotes'`, "+"} {
		path := filepath.Join(t.TempDir(), name)
		mustCreate(t, open(t, path), "a")
		wantNotes(t, path, 1)
		wantFiles(t, path, name, name+"-lock", name+"-shm", name+"-wal")
	}
}

func TestOpenRejects(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("texts"), strings.Repeat("all my notes\n", 1000))
	mustWrite(t, in("empty"), "")
	sqlOn(t, in("other"), "CREATE TABLE notes (tune TEXT)")
	sqlOn(t, in("goose"), "CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER); CREATE TABLE songs (title TEXT)")
	for _, name := range []string{"one", "schemaless"} {
		mustClose(t, open(t, in(name)))
	}
	damageLeaf(t, in("schemaless"), "goose_db_version")
	must(t, os.Link(in("one"), in("twin")))
	must(t, os.Symlink("gone", in("dangling")))
	for i, suffix := range suffixes { // that somebody planted beside a database
		must(t, os.Symlink("planted", in(fmt.Sprint(i))+suffix))
	}
	const beside = " beside it is not a regular file"
	for path, want := range map[string]string{
		"":                     "not a file name",
		":memory:":             "not a file name",
		"-":                    "./- for one called -",
		dir:                    "is not a regular file",
		in("texts"):            "is not an SQLite database",
		in("missing/notes.db"): "its folder does not exist",
		in("other"):            "belongs to another program and was not changed",
		in("goose"):            "belongs to another program and was not changed",
		in("songs-wal"):        "a name that ends in -wal is that of a file of a store",
		in("twin"):             "has several names (hard links)",
		in("dangling"):         "is a symbolic link to nothing",
		in("schemaless"):       "is damaged",
		in("0"):                "0-wal" + beside,
		in("1"):                "1-shm" + beside,
		in("2"):                "2-lock" + beside,
		in("3"):                "3-journal" + beside,
		in("none"):             "there is no store at " + in("none"),
		in("empty"):            "there is no store at " + in("empty"),
	} {
		before, _ := os.ReadFile(path)
		for _, err := range openErrors(t, path) {
			wantError(t, path, err, want)
			wantError(t, path, err, cmp.Or(path, want))
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%q: got the file changed, want it left alone", path)
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

// TestOpenWaits checks how long Open waits for a process that opens or restores the file.
func TestOpenWaits(t *testing.T) {
	path := newPath(t)
	lock := newLock(path)
	must(t, lock.Lock())
	defer lock.Close()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := schema.Open(t.Context(), path, db.Options{})
		wantError(t, "locked", err, "another process is opening or restoring it")
		if took := time.Since(began).Round(time.Second); took != 5*time.Second {
			t.Errorf("got the error after %v, want 5s", took)
		}
	})
}

// TestStart checks the settings of connections. SQLite ignores unknown ones.
func TestStart(t *testing.T) {
	d := open(t, newPath(t))
	for _, pragma := range []string{
		"journal_mode=wal", "synchronous=2", "wal_autocheckpoint=0", "foreign_keys=1", "busy_timeout=5000", "journal_size_limit=16777216",
	} {
		name, want, _ := strings.Cut(pragma, "=")
		var got string
		if err := d.writer.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %s, error %v", pragma, got, err)
		}
	}
	wantError(t, "a write in Read", d.Read(t.Context(), insert), "the database is read-only")
}

// TestMigrate migrates to a second version, which a program that knows only the first rejects.
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
	for _, err := range openErrors(t, path) {
		if !errors.Is(err, db.ErrNewer) {
			t.Errorf("a newer schema: got error %v, want ErrNewer", err)
		}
	}
}

// TestOtherProgram has a program write that does not know this package's lock.
func TestOtherProgram(t *testing.T) {
	patient := toWrite
	defer func() { toWrite = patient }()
	toWrite = url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}
	path := atRest(t)
	shell := connect(path, toWrite)
	_, _ = shell.Exec("BEGIN; INSERT INTO notes (text) VALUES ('a')")
	_, err := schema.Open(t.Context(), path, db.Options{})
	wantError(t, "Open", err, "another program has locked it")
	_, err = shell.Exec("COMMIT")
	must(t, errors.Join(err, shell.Close()))
	wantNotes(t, path, 1)
}

// TestReplacedFile makes an operator's mistakes with a database in use. One of several calls is the first to notice.
func TestReplacedFile(t *testing.T) {
	const want = " while it was in use, so writing has stopped"
	for what, c := range map[string]struct {
		replace func(path, link string) error
		reopen  string // "before" if that note is there again, "" if nothing copied the log, or the error
	}{
		"log emptied":   {func(path, _ string) error { return os.Truncate(path+"-wal", 0) }, ""},
		"log cut":       {func(path, _ string) error { return os.Truncate(path+"-wal", 4000) }, ""},
		"log removed":   {func(path, _ string) error { return os.Remove(path + "-wal") }, "before"},
		"index removed": {func(path, _ string) error { return os.Remove(path + "-shm") }, "before"},
		"lock removed":  {func(path, _ string) error { return os.Remove(path + "-lock") }, "before"},
		"link changed":  {func(path, link string) error { return errors.Join(os.Remove(link), os.Symlink(path+"2", link)) }, "before"},
		"file moved":    {func(path, _ string) error { return os.Rename(path, path+"2") }, "is missing or empty, but its log"},
		"file emptied":  {func(path, _ string) error { return os.Truncate(path, 0) }, "is missing or empty, but its log"},
		"file replaced": {func(path, _ string) error { return os.Rename(backupOf(t, "other"), path) }, "is a backup, but its log"},
	} {
		for _, first := range []string{"read", "Ping", "write", "commit", "Close"} {
			if what == "log cut" && first == "commit" { // it grows again, behind its header
				continue
			}
			path, link := atRest(t), newPath(t)
			must(t, os.Symlink(path, link))
			d := open(t, filepath.Dir(link)+"/none/../notes.db")
			before := mustCreate(t, d, "first", "before") // by the end of the second, the log was measured
			wantFiles(t, link, "notes.db")
			if first == "commit" {
				wantError(t, what+": commit", d.Write(t.Context(), func(conn Conn) error {
					return errors.Join(c.replace(path, link), insert(conn))
				}), want)
			} else {
				must(t, c.replace(path, link))
			}
			switch first {
			case "read":
				_ = d.Read(t.Context(), new(ledger).scan)
				if c.reopen == "" && len(d.Failed()) != 1 { // the read needs the log
					t.Errorf("%s: got no failure after a read, want one", what)
				}
			case "Ping":
				wantError(t, what+": Ping", d.Ping(t.Context()), want)
			}
			if first != "Close" {
				_, err := create(t.Context(), d, "after")
				wantError(t, what+": create", err, want)
				if len(d.Failed()) != 1 || fault.KindOf(err) != fault.Internal || dbtest.Metrics(t, d)["sqlite_damaged"] != 0 {
					t.Fatalf("%s: got %d failures, error %v, want one, internal, and no damage", what, len(d.Failed()), err)
				}
				wantError(t, what+": Failed", <-d.Failed(), want)
				for range d.readers { // the file that is there now must not be touched
					_ = d.Read(t.Context(), new(ledger).scan)
				}
			}
			if err := d.Close(); (err != nil) != (first == "Close" && !strings.HasSuffix(what, " removed")) { // it is told once
				t.Errorf("%s first: %s: Close: got error %v", first, what, err)
			}
			d, err := schema.Open(t.Context(), copyOf(t, path), db.Options{})
			got := fmt.Sprint(err)
			if err == nil {
				got = walk(t, d)[before]
				mustClose(t, d)
			}
			if got != c.reopen && (err == nil || !strings.Contains(got, c.reopen)) {
				t.Errorf("%s first: %s: Open: got %q, want %q", first, what, got, c.reopen)
			}
		}
	}
}

// TestLogTaken takes the log of a killed process away: the file is opened if it is back, or if its index is gone, too.
func TestLogTaken(t *testing.T) {
	path, l := killed(t)
	must(t, os.Rename(path+"-wal", path+".away"))
	wantUnchanged(t, path, func() {
		for _, err := range openErrors(t, path) {
			wantError(t, "without the log", err, path+"-wal was taken away")
		}
	})
	must(t, os.Rename(path+".away", path+"-wal"))
	l.check(t, path) // copies it
	must(t, errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")))
	l.check(t, path)
	restored := backupOf(t, "a") // needs no log
	mustWrite(t, restored+"-shm", "")
	mustCreate(t, open(t, restored), "b")
}

// damageLeaf overwrites the last leaf page of a table or an index.
func damageLeaf(t testing.TB, path, name string) {
	t.Helper()
	conn := connect(path, url.Values{})
	var page int64
	err := conn.QueryRow("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", name).Scan(&page)
	content, readErr := os.ReadFile(path)
	must(t, errors.Join(err, readErr, conn.Close()))
	copy(content[(page-1)*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	mustWrite(t, path, string(content))
}

// TestIndexEmptied checks that a read that needs the index notices that it was emptied.
func TestIndexEmptied(t *testing.T) {
	path := atRest(t, "a")
	d := open(t, path)
	mustCreate(t, d, "b")
	must(t, os.Truncate(path+indexSuffix, 0))
	if err := d.Read(t.Context(), new(ledger).scan); len(d.Failed()) != 1 {
		t.Errorf("got error %v and no failure, want one", err)
	}
}

// TestDamage checks that a damaged page ends all writing, but neither the process nor reading.
func TestDamage(t *testing.T) {
	path := atRest(t, "a")
	damageLeaf(t, path, "tags")
	for what, call := range map[string]func(*DB, context.Context, func(Conn) error) error{"read": (*DB).Read, "write": (*DB).Write} {
		d := open(t, path)
		log, logger := dbtest.NewLog()
		d.logger = logger
		err := call(d, t.Context(), func(conn Conn) error { return conn.Stmt(selectTags).QueryRow().Scan(new(string)) })
		wantError(t, what, err, "malformed")
		_, err = create(t.Context(), d, "late")
		wantError(t, what, err, "the database is damaged")
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: got error %v, want unavailable: nothing was done", what, err)
		}
		must(t, d.Ping(t.Context()))
		if failures, damaged := len(d.Failed()), dbtest.Metrics(t, d)["sqlite_damaged"]; failures > 0 || damaged != 1 || len(walk(t, d)) != 1 {
			t.Errorf("%s: got %d failures, damaged %v, notes %v, want 0, 1 and one note", what, failures, damaged, walk(t, d))
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=ERROR msg="the database is damaged"`) {
			t.Errorf("%s: log: got %q, want one line", what, got)
		}
		mustClose(t, d)
	}
}
