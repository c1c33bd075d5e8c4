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
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	schemaless := atRest(t)
	damageLeaf(t, schemaless, "goose_db_version")
	require.NoError(t, os.Link(atRest(t), in("twin")))
	require.NoError(t, os.Symlink("gone", in("dangling")))
	rejected := map[string]string{
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
		schemaless:             "is damaged",
		in("none"):             "there is no store at " + in("none"),
		in("empty"):            "there is no store at " + in("empty"),
	}
	for _, suffix := range suffixes { // of a link that somebody planted beside a database
		path := in(suffix[1:])
		require.NoError(t, os.Symlink("planted", path+suffix))
		rejected[path] = path + suffix + " beside it is not a regular file"
	}
	for path, want := range rejected {
		before, _ := os.ReadFile(path)
		for _, err := range openErrors(t, path) {
			assert.ErrorContains(t, err, want, path)
			assert.ErrorContains(t, err, cmp.Or(path, want), path)
		}
		after, _ := os.ReadFile(path)
		assert.True(t, bytes.Equal(before, after), "%q: got the file changed, want it left alone", path)
	}
	_, err := newLock(in("lock")).TryLock()
	assert.Error(t, err, "locking the target of a link")
	assert.NoFileExists(t, in("none"))
	assert.NoFileExists(t, in("planted"))
}

// TestOpenWaits checks how long Open waits for a process that opens or restores the file.
func TestOpenWaits(t *testing.T) {
	path := newPath(t)
	lock := newLock(path)
	require.NoError(t, lock.Lock())
	defer lock.Close()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := schema.Open(t.Context(), path, db.Options{})
		assert.ErrorContains(t, err, "another process is opening or restoring it", "locked")
		assert.Equal(t, 5*time.Second, time.Since(began).Round(time.Second))
	})
}

// TestStart checks the settings of connections. SQLite ignores unknown ones.
func TestStart(t *testing.T) {
	d := open(t, newPath(t))
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "wal_autocheckpoint": "0",
		"foreign_keys": "1", "busy_timeout": "5000", "journal_size_limit": "16777216",
	} {
		var got string
		require.NoError(t, d.writer.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got), name)
		assert.Equal(t, want, got, name)
	}
	assert.ErrorContains(t, d.Read(t.Context(), insert), "the database is read-only", "a write in Read")
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
	assert.ErrorIs(t, second.Read(t.Context(), path, new(ledger).scan), db.ErrOutdated)
	r, err := second.Verify(t.Context(), path)
	require.NoError(t, err)
	assert.Len(t, r.Rows, 2, "tables of the first version")
	for _, want := range [][2]int64{{1, 2}, {2, 2}} { // first while another process has it
		from, to, err := second.Migrate(t.Context(), path, nil)
		require.NoError(t, err)
		assert.Equal(t, want, [2]int64{from, to}, "Migrate")
	}
	assert.Equal(t, ledger{1: "a", 2: "b", 3: "c"}, walk(t, d))
	require.NoError(t, limited(d.Close))
	for _, err := range openErrors(t, path) {
		assert.ErrorIs(t, err, db.ErrNewer)
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
	assert.ErrorContains(t, err, "another program has locked it", "Open")
	_, err = shell.Exec("COMMIT")
	require.NoError(t, errors.Join(err, shell.Close()))
	wantNotes(t, path, 1)
}

// TestReplacedFile makes an operator's mistakes with a database in use. One of several calls is the first to notice.
func TestReplacedFile(t *testing.T) {
	const want = " while it was in use, so writing has stopped"
	for what, c := range map[string]struct {
		replace func(path, link string) error
		reopen  string // matches that note if it is there again, "" if nothing copied the log, or the error
	}{
		"log emptied":   {func(path, _ string) error { return os.Truncate(path+"-wal", 0) }, "^$"},
		"log cut":       {func(path, _ string) error { return os.Truncate(path+"-wal", 4000) }, "^$"},
		"log removed":   {func(path, _ string) error { return os.Remove(path + "-wal") }, "^before$"},
		"index removed": {func(path, _ string) error { return os.Remove(path + "-shm") }, "^before$"},
		"lock removed":  {func(path, _ string) error { return os.Remove(path + "-lock") }, "^before$"},
		"link changed":  {func(path, link string) error { return errors.Join(os.Remove(link), os.Symlink(path+"2", link)) }, "^before$"},
		"file moved":    {func(path, _ string) error { return os.Rename(path, path+"2") }, "is missing or empty, but its log"},
		"file emptied":  {func(path, _ string) error { return os.Truncate(path, 0) }, "is missing or empty, but its log"},
		"file replaced": {func(path, _ string) error { return os.Rename(backupOf(t, "other"), path) }, "is a backup, but its log"},
	} {
		for _, first := range []string{"read", "Ping", "write", "commit", "Close"} {
			if what == "log cut" && first == "commit" { // it grows again, behind its header
				continue
			}
			path, link := atRest(t), newPath(t)
			require.NoError(t, os.Symlink(path, link))
			d := open(t, filepath.Dir(link)+"/none/../notes.db")
			before := mustCreate(t, d, "first", "before") // by the end of the second, the log was measured
			wantFiles(t, link, "notes.db")
			if first == "commit" {
				err := d.Write(t.Context(), func(conn Conn) error { return errors.Join(c.replace(path, link), insert(conn)) })
				assert.ErrorContains(t, err, want, what+": commit")
			} else {
				require.NoError(t, c.replace(path, link))
			}
			switch first {
			case "read":
				_ = d.Read(t.Context(), new(ledger).scan)
				assert.True(t, c.reopen != "^$" || len(d.Failed()) == 1, "%s: no failure after a read, which needs the log", what)
			case "Ping":
				assert.ErrorContains(t, d.Ping(t.Context()), want, what+": Ping")
			}
			if first != "Close" {
				_, err := create(t.Context(), d, "after")
				assert.ErrorContains(t, err, want, what+": create")
				dbtest.WantKind(t, what, err, fault.Internal)
				assert.Zero(t, dbtest.Metrics(t, d)["sqlite_damaged"], what)
				require.Len(t, d.Failed(), 1, what)
				assert.ErrorContains(t, <-d.Failed(), want, what+": Failed")
				for range d.readers { // the file that is there now must not be touched
					_ = d.Read(t.Context(), new(ledger).scan)
				}
			}
			err := d.Close()
			fails := first == "Close" && !strings.HasSuffix(what, " removed") // it is told once
			assert.Equal(t, fails, err != nil, "%s first: %s: Close fails: got error %v", first, what, err)
			d, err = schema.Open(t.Context(), copyOf(t, path), db.Options{})
			got := fmt.Sprint(err)
			if err == nil {
				got = walk(t, d)[before]
				require.NoError(t, limited(d.Close))
			}
			assert.Regexp(t, c.reopen, got, "%s first: %s: Open", first, what)
		}
	}
}

// TestLogTaken takes the log of a killed process away: the file is opened if it is back, or if its index is gone, too.
func TestLogTaken(t *testing.T) {
	path, l := killed(t)
	require.NoError(t, os.Rename(path+"-wal", path+".away"))
	wantUnchanged(t, path, func() {
		for _, err := range openErrors(t, path) {
			assert.ErrorContains(t, err, path+"-wal was taken away", "without the log")
		}
	})
	require.NoError(t, os.Rename(path+".away", path+"-wal"))
	l.check(t, path) // copies it
	require.NoError(t, errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")))
	l.check(t, path)
	restored := backupOf(t, "a") // needs no log
	mustWrite(t, restored+"-shm", "")
	mustCreate(t, open(t, restored), "b")
}

// damageLeaf overwrites the last leaf page of a table or an index.
func damageLeaf(t testing.TB, path, name string) {
	conn := connect(path, url.Values{})
	var page int64
	err := conn.QueryRow("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", name).Scan(&page)
	content, readErr := os.ReadFile(path)
	require.NoError(t, errors.Join(err, readErr, conn.Close()))
	copy(content[(page-1)*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	mustWrite(t, path, string(content))
}

// TestIndexEmptied checks that a read that needs the index notices that it was emptied.
func TestIndexEmptied(t *testing.T) {
	path := atRest(t, "a")
	d := open(t, path)
	mustCreate(t, d, "b")
	require.NoError(t, os.Truncate(path+indexSuffix, 0))
	err := d.Read(t.Context(), new(ledger).scan)
	assert.Len(t, d.Failed(), 1, "after the error %v", err)
}

// TestDamage checks that a damaged page ends all writing, but neither the process nor reading.
func TestDamage(t *testing.T) {
	path := atRest(t, "a")
	damageLeaf(t, path, "tags")
	damaged := func(conn Conn) error { return conn.Stmt(selectTags).QueryRow().Scan(new(string)) }
	for what, call := range map[string]func(*DB, context.Context, func(Conn) error) error{"read": (*DB).Read, "write": (*DB).Write} {
		d := open(t, path)
		log, logger := dbtest.NewLog()
		d.logger = logger
		assert.ErrorContains(t, call(d, t.Context(), damaged), "malformed", what)
		assert.ErrorContains(t, d.Read(t.Context(), damaged), "malformed", what) // which is not logged again
		_, err := create(t.Context(), d, "late")
		assert.ErrorContains(t, err, "the database is damaged", what)
		dbtest.WantKind(t, what, err, fault.Unavailable) // nothing was done
		require.NoError(t, d.Ping(t.Context()), what)
		assert.Empty(t, d.Failed(), what)
		assert.Equal(t, 1.0, dbtest.Metrics(t, d)["sqlite_damaged"], what)
		assert.Len(t, walk(t, d), 1, what)
		assert.Regexp(t, `^.*level=ERROR msg="the database is damaged".*\n$`, log.String(), what)
		require.NoError(t, limited(d.Close))
	}
}
