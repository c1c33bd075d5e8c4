package sqlite

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/petstore/engine/db"
)

// TestBackup backs a database up beside a server, and never over a file of a store.
func TestBackup(t *testing.T) {
	path, dir := newPath(t), t.TempDir()
	mustCreate(t, open(t, path), "a")
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"1-lock", "2-wal", "3-journal", "notes.db"} {
		mustWrite(t, in(name), "of another")
	}
	if err := errors.Join(os.Symlink(path, in("link")), os.Symlink("notes.db", in("leads"))); err != nil {
		t.Fatal(err)
	}
	for name, beside := range map[string]string{"link": path + "-wal", "1": in("1-lock"), "2": in("2-wal"), "3": in("3-journal")} {
		_, err := schema.Backup(t.Context(), path, in(name), true)
		wantError(t, "Backup to "+name, err, "may be a file of a store, because "+beside)
	}
	_, err := schema.Backup(t.Context(), path, in("leads"), false)
	wantError(t, "Backup without force", err, "already exists")
	r, err := schema.Backup(t.Context(), path, in("leads"), true)
	rows := []db.Rows{{Table: "notes", Count: 1}, {Table: "tags"}}
	if err != nil || r.Path != in("leads") || r.Schema != 1 || !reflect.DeepEqual(r.Rows, rows) || r.Bytes == 0 {
		t.Errorf("Backup with force: got %+v, error %v, want one note in the file of the link", r, err)
	}
	wantNotes(t, in("notes.db"), 1)
	wantFiles(t, in("notes.db"), "1-lock", "2-wal", "3-journal", "leads", "link", "notes.db")
}

func TestVerify(t *testing.T) {
	path := atRest(t)
	sqlOn(t, path, "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO notes (text) SELECT printf('%090d', i) FROM n")
	d := open(t, path)
	mustCreate(t, d, "last")
	wantNotes(t, path, 2001) // beside a server
	mustClose(t, d)
	sound, _ := os.ReadFile(path)
	sqlOn(t, path, "PRAGMA ignore_check_constraints = ON; UPDATE notes SET text = 'wrong' WHERE id = 1")
	to := newPath(t)
	_, err := schema.Backup(t.Context(), path, to, false)
	wantError(t, "Backup of a wrong row", err, "CHECK constraint failed in notes")
	wantFiles(t, to)
	for _, name := range []string{"notes", "notes_by_text", "tags", "goose_db_version"} {
		mustWrite(t, path, string(sound))
		damageLeaf(t, path, name)
		_, err := schema.Verify(t.Context(), path)
		wantError(t, name, err, "is damaged")
		wantError(t, name, err, " "+name)
		_, err = schema.Restore(t.Context(), newPath(t), path, false)
		wantError(t, "Restore of a damaged backup", err, "cannot be restored")
	}
}

// TestAltered changes the schema of a sound file. Verify and Restore refuse it, Backup says so, and
// Open warns and serves what it can, but for triggers that may change what is written.
func TestAltered(t *testing.T) {
	const trigger = "; CREATE TRIGGER planted AFTER INSERT ON %s BEGIN DELETE FROM notes; END"
	for statement, c := range map[string]struct{ differs, refused string }{
		"DROP INDEX notes_by_text":                           {differs: "no index notes_by_text"},
		"DROP TABLE tags":                                    {differs: "no table tags", refused: "no such table: tags"},
		"CREATE INDEX planted ON notes(zeroblob(9))":         {differs: "an additional index planted"},
		"CREATE VIEW planted AS SELECT * FROM notes":         {differs: "an additional view planted"},
		"CREATE TABLE own (a)" + fmt.Sprintf(trigger, "own"): {differs: "an additional table own, an additional trigger planted"},
		"ANALYZE" + fmt.Sprintf(trigger, "NOTES"):            {differs: "an additional trigger planted", refused: "an additional trigger planted"},
		"ANALYZE" + fmt.Sprintf(trigger, "goose_db_version"): {differs: "an additional trigger planted", refused: "an additional trigger planted"},
		"DROP TABLE tags; CREATE TABLE tags (name TEXT PRIMARY KEY ON CONFLICT REPLACE NOT NULL) STRICT": {differs: "another table tags"},
	} {
		path, to := atRest(t, "a"), newPath(t)
		sqlOn(t, path, statement)
		r := mustBackup(t, path, to)
		_, verifyErr := schema.Verify(t.Context(), to)
		_, restoreErr := schema.Restore(t.Context(), newPath(t), to, false)
		for _, err := range []error{r.Altered, verifyErr, restoreErr} {
			wantError(t, statement, err, db.ErrAltered.Error()+": it has "+c.differs)
		}
		var log strings.Builder
		d, err := schema.Open(t.Context(), path, db.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if c.refused != "" {
			wantError(t, statement, err, c.refused)
			continue
		}
		mustCreate(t, d, "b")
		mustClose(t, d)
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, c.differs) {
			t.Errorf("%s: got the log %q, want a warning of %s", statement, got, c.differs)
		}
	}
}

func TestRestoreRejects(t *testing.T) {
	path, dir := atRest(t, "a"), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("lone-wal"), "acknowledged writes")
	sqlOn(t, in("songs"), "CREATE TABLE songs (title TEXT)")
	sqlOn(t, in("blank"), "PRAGMA user_version = 1")
	shell := connect(path, url.Values{})
	if err := shell.QueryRow("SELECT text FROM notes").Scan(new(string)); err != nil {
		t.Fatal(err)
	}
	_, err := schema.Restore(t.Context(), path, backupOf(t), true)
	wantError(t, "while a shell has it", err, path+" is unchanged: another program, such as a shell, has the store open")
	_ = shell.Close()
	for from, want := range map[string]string{
		in("songs"): "belongs to another program and was not changed",
		in("blank"): "it has no index notes_by_text, no table notes, no table tags",
		in("none"):  "the backup cannot be read",
		in("lone"):  "the backup cannot be read",
	} {
		wantUnchanged(t, path, func() {
			r, err := schema.Restore(t.Context(), path, from, true)
			wantError(t, from, err, want)
			if errors.Is(err, db.ErrNone) || errors.Is(err, db.ErrLoneLog) || r.Path != "" { // the advice is about the store to replace
				t.Errorf("%s: got %+v, error %v, want no path, and no error of the store", from, r, err)
			}
		})
		wantFiles(t, path, "notes.db", "notes.db-lock")
	}
}

// TestRestore replaces databases, and checks which identifiers follow. A log is never applied to another
// file, and only force removes it.
func TestRestore(t *testing.T) {
	three, none := backupOf(t, "a", "b", "c"), backupOf(t)
	deleted, lost, damaged := atRest(t, "a", "b", "c", "d", "e"), atRest(t, "a", "b", "c", "d"), atRest(t, "a", "b", "c", "d")
	sqlOn(t, deleted, "DELETE FROM notes WHERE id > 3")
	sqlOn(t, lost, "DELETE FROM sqlite_sequence")
	damageLeaf(t, damaged, "notes")
	beside := func(spoil func(path string) error) string { // returns what is beside a log of 20 notes
		path, _ := killed(t)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for what, c := range map[string]struct {
		path, backup string
		last         int64  // the last identifier that was given
		refused      string // by Open, or ""
	}{
		"last rows deleted":  {deleted, three, 5, ""},
		"sequence lost":      {lost, three, 4, ""},
		"damaged":            {damaged, three, 3 + farAbove, ""},
		"made anew":          {atRest(t), three, 3 + farAbove, ""},
		"none":               {newPath(t), three, 3 + farAbove, ""},
		"none, empty backup": {newPath(t), none, farAbove, ""},
		"empty backup":       {atRest(t, "a"), none, 1, ""},
		"killed":             {beside(func(string) error { return nil }), three, 20, ""},
		"unreadable": {beside(func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("junk"), 4096), 0o600)
		}), three, 20, ""},
		"journal": {beside(func(path string) error { // of a file that is gone
			return errors.Join(os.Rename(path+"-wal", path+"-journal"), os.Remove(path))
		}), three, 3 + farAbove, ""},
		"missing": {beside(os.Remove), three, 3 + farAbove, "is missing or empty, but its log"},
		"renamed": {beside(func(path string) error { // by hand, or by a restore killed then
			return os.Rename(backupOf(t, "other"), path)
		}), three, 3 + farAbove, "is a backup, but its log"},
	} {
		if c.refused != "" {
			wantUnchanged(t, c.path, func() {
				_, err := schema.Open(t.Context(), c.path, db.Options{})
				wantError(t, what+": Open", err, c.refused)
				_, err = schema.Restore(t.Context(), c.path, c.backup, false)
				wantError(t, what+": Restore without force", err, c.path)
			})
		}
		r, err := schema.Restore(t.Context(), c.path, c.backup, true)
		if err != nil || r.Rows[0].LastID != c.last || r.Rows[1].LastID != 0 {
			t.Errorf("%s: got %+v, error %v, want the last identifier %d", what, r, err, c.last)
		}
		wantFiles(t, c.path, "notes.db", "notes.db-lock")
		want := ledger{c.last + 1: "next"}
		if c.backup == three {
			want[1], want[2], want[3] = "a", "b", "c"
		}
		d := open(t, c.path)
		mustCreate(t, d, "next")
		if got := walk(t, d); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
}

// TestKill has several processes write to a new store, backs it up, and kills one after the other.
func TestKill(t *testing.T) {
	path, l := newPath(t), ledger{}
	var running []*exec.Cmd
	var lines []*bufio.Scanner
	for range 4 {
		c := child(t, nil, "create", path, "1000000")
		out, err := c.StdoutPipe()
		if err := errors.Join(err, c.Start()); err != nil {
			t.Fatal(err)
		}
		running, lines = append(running, c), append(lines, bufio.NewScanner(out))
	}
	for i, c := range running {
		for _, scanner := range lines[i:] {
			if n := l.read(t, scanner, 50); n < 50 {
				t.Fatalf("got %d notes and the end of the child's output, want 50", n)
			}
		}
		l.check(t, mustBackup(t, path, newPath(t)).Path)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		l.read(t, lines[i], math.MaxInt)
		_ = c.Wait() // it was killed
		l.check(t, path)
	}
}
