package sqlite

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"example.com/petstore/internal/db"
)

// TestBackup backs a database up beside a server.
func TestBackup(t *testing.T) {
	path, to := newPath(t), newPath(t)
	mustCreate(t, open(t, path), "a")
	r := mustBackup(t, path, to)
	if r.Path != to || r.Schema != 1 || !reflect.DeepEqual(r.Rows, []db.Rows{{Table: "notes", Count: 1}, {Table: "tags"}}) || r.Bytes == 0 {
		t.Errorf("Report: got %+v, want one note in %s", r, to)
	}
	wantFiles(t, to, "notes.db")
}

// A restore continues above the identifiers that the replaced database gave, or far above
// the backup's if it cannot know them.
func TestRestoreIDs(t *testing.T) {
	three := backupOf(t, "a", "b", "c")
	deleted := atRest(t, "a", "b", "c", "d", "e")
	sqlOn(t, deleted, "DELETE FROM notes WHERE id > 3")
	lost := atRest(t, "a", "b", "c", "d")
	sqlOn(t, lost, "DELETE FROM sqlite_sequence")
	log, _ := killed(t) // the last of its 20 notes are in the log
	damaged := atRest(t, "a", "b", "c", "d")
	damageLeaf(t, damaged, "notes")
	for what, c := range map[string]struct {
		path, backup string
		want         int64 // the last identifier that was given
	}{
		"last rows deleted":  {deleted, three, 5},
		"sequence lost":      {lost, three, 4},
		"killed":             {log, three, 20},
		"empty backup":       {atRest(t, "a"), backupOf(t), 1},
		"none":               {newPath(t), three, 3 + farAbove},
		"none, empty backup": {newPath(t), backupOf(t), farAbove},
		"damaged":            {damaged, three, 3 + farAbove},
		"made anew":          {atRest(t), three, 3 + farAbove},
	} {
		r, err := schema.Restore(t.Context(), c.path, c.backup, true)
		if err != nil || r.Rows[0].LastID != c.want || r.Rows[1].LastID != 0 {
			t.Errorf("%s: got %+v, error %v, want the last identifier %d", what, r, err, c.want)
		}
		if got := mustCreate(t, open(t, c.path), "next"); got != c.want+1 {
			t.Errorf("%s: got id %d, want %d", what, got, c.want+1)
		}
	}
}

func TestBackupRejects(t *testing.T) {
	path, dir := atRest(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("there"), "of another")
	mustWrite(t, in("1-lock"), "")
	mustWrite(t, in("2-wal"), "")
	mustWrite(t, in("3-journal"), "")
	if err := errors.Join(os.Symlink(path, in("link")), os.Symlink("there", in("leads"))); err != nil {
		t.Fatal(err)
	}
	for name, beside := range map[string]string{"link": path + "-lock", "1": in("1-lock"), "2": in("2-wal"), "3": in("3-journal")} {
		_, err := schema.Backup(t.Context(), path, in(name), true)
		wantError(t, "Backup to "+name, err, "may be a file of a store, because "+beside)
	}
	_, err := schema.Backup(t.Context(), path, in("leads"), false)
	wantError(t, "Backup without force", err, "already exists")
	wantFiles(t, in("x"), "1-lock", "2-wal", "3-journal", "leads", "link", "there")
	if _, err := schema.Backup(t.Context(), path, in("leads"), true); err != nil {
		t.Errorf("Backup with force: got error %v", err)
	}
	wantNotes(t, in("there"), 0)
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
// Open serves what it can, but for triggers that may change what is written.
func TestAltered(t *testing.T) {
	const trigger = "; CREATE TRIGGER planted AFTER INSERT ON %s BEGIN DELETE FROM notes; END"
	for statement, c := range map[string]struct{ differs, refused string }{
		"ANALYZE":                  {},
		"DROP INDEX notes_by_text": {differs: "no index notes_by_text"},
		"DROP TABLE tags":          {differs: "no table tags", refused: "no such table: tags"},
		"CREATE INDEX planted ON notes(zeroblob(9))":                                                     {differs: "an additional index planted"},
		"CREATE VIEW planted AS SELECT * FROM notes":                                                     {differs: "an additional view planted"},
		"CREATE TABLE own (a)" + fmt.Sprintf(trigger, "own"):                                             {differs: "an additional table own, an additional trigger planted"},
		"ANALYZE" + fmt.Sprintf(trigger, "NOTES"):                                                        {differs: "an additional trigger planted", refused: "an additional trigger planted"},
		"ANALYZE" + fmt.Sprintf(trigger, "goose_db_version"):                                             {differs: "an additional trigger planted", refused: "an additional trigger planted"},
		"DROP TABLE tags; CREATE TABLE tags (name TEXT PRIMARY KEY ON CONFLICT REPLACE NOT NULL) STRICT": {differs: "another table tags"},
	} {
		path, to := atRest(t, "a"), newPath(t)
		sqlOn(t, path, statement)
		r := mustBackup(t, path, to)
		_, verifyErr := schema.Verify(t.Context(), to)
		_, restoreErr := schema.Restore(t.Context(), newPath(t), to, false)
		if c.differs == "" {
			if err := errors.Join(r.Altered, verifyErr, restoreErr); err != nil {
				t.Errorf("%s: got error %v", statement, err)
			}
			continue
		}
		for _, err := range []error{r.Altered, verifyErr, restoreErr} {
			wantError(t, statement, err, db.ErrAltered.Error()+": it has "+c.differs)
		}
		d, err := schema.Open(t.Context(), path, db.Options{})
		if c.refused != "" {
			wantError(t, statement, err, c.refused)
		} else if err == nil {
			mustCreate(t, d, "b")
			mustClose(t, d)
		} else {
			t.Errorf("%s: Open: got error %v", statement, err)
		}
	}
}

func TestRestoreRejects(t *testing.T) {
	path, dir, backup := atRest(t, "a"), t.TempDir(), backupOf(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("empty"), "")
	mustWrite(t, in("text"), "my notes")
	mustWrite(t, in("lone-wal"), "acknowledged writes")
	sqlOn(t, in("songs"), "CREATE TABLE songs (title TEXT)")
	server := open(t, path)
	_, err := schema.Restore(t.Context(), path, backup, true)
	wantError(t, "while a server has it", err, "a server or a command has it open")
	mustClose(t, server)
	shell := connect(path, url.Values{})
	if err := shell.QueryRow("SELECT text FROM notes").Scan(new(string)); err != nil {
		t.Fatal(err)
	}
	_, err = schema.Restore(t.Context(), path, backup, true)
	wantError(t, "while a shell has it", err, path+" is unchanged: another program, such as a shell, has the store open")
	_ = shell.Close()
	before, _ := os.ReadFile(path)
	for from, want := range map[string]string{
		in("empty"): "the backup cannot be read",
		in("text"):  "is not an SQLite database",
		in("songs"): "belongs to another program and was not changed",
		in("none"):  "the backup cannot be read",
		in("lone"):  "the backup cannot be read",
	} {
		r, err := schema.Restore(t.Context(), path, from, true)
		wantError(t, from, err, want)
		if errors.Is(err, db.ErrNone) || errors.Is(err, db.ErrLoneLog) { // the advice is about the store to replace
			t.Errorf("%s: got error %v, want none of the store", from, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) || r.Path != "" {
			t.Errorf("%s: got the store changed and %+v, want it as it was and no path", from, r)
		}
		wantFiles(t, path, "notes.db", "notes.db-lock")
	}
}

// A log is never applied to another file, and only Restore with force removes it.
func TestRestoreWithLog(t *testing.T) {
	from := backupOf(t, "a", "b", "c")
	for what, c := range map[string]struct {
		spoil   func(path string) error
		refused string // by Open, or ""
	}{
		"sound":      {func(string) error { return nil }, ""},
		"unreadable": {func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("junk"), 4096), 0o600) }, ""},
		"journal": {func(path string) error { // of a file that is gone
			return errors.Join(os.Rename(path+"-wal", path+"-journal"), os.Remove(path))
		}, ""},
		"missing": {os.Remove, "is missing or empty, but its log"},
		"renamed": {func(path string) error { return os.Rename(backupOf(t, "other"), path) }, "is a backup, but its log"}, // by hand, or by a restore killed then
	} {
		path, _ := killed(t)
		log, err := os.ReadFile(path + "-wal")
		if err := errors.Join(err, c.spoil(path)); err != nil {
			t.Fatal(err)
		}
		if c.refused != "" {
			_, err := schema.Open(t.Context(), path, db.Options{})
			wantError(t, what+": Open", err, c.refused)
			_, err = schema.Restore(t.Context(), path, from, false)
			wantError(t, what+": Restore without force", err, path)
			if got, err := os.ReadFile(path + "-wal"); !bytes.Equal(got, log) {
				t.Errorf("%s: got the log changed, error %v, want it as it was", what, err)
			}
		}
		if _, err := schema.Restore(t.Context(), path, from, true); err != nil {
			t.Errorf("%s: Restore: got error %v", what, err)
		}
		wantFiles(t, path, "notes.db", "notes.db-lock")
		if got, want := walk(t, open(t, path)), (ledger{1: "a", 2: "b", 3: "c"}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: restored: got %v, want %v", what, got, want)
		}
	}
}

// TestKill has several processes open a new store at once, backs it up while they write
// and kills one after the other.
func TestKill(t *testing.T) {
	path, l := newPath(t), ledger{}
	type process struct {
		*exec.Cmd
		lines *bufio.Scanner
	}
	var running []process
	for round := range 5 {
		for round < 3 && len(running) < 3 {
			c := child(t, nil, "create", path)
			out, err := c.StdoutPipe()
			if err := errors.Join(err, c.Start()); err != nil {
				t.Fatal(err)
			}
			running = append(running, process{c, bufio.NewScanner(out)})
		}
		for _, c := range running {
			if n := 30 * (round + 1); l.read(t, c.lines, n) < n {
				t.Fatalf("got the end of the child's output, want %d notes", n)
			}
		}
		l.check(t, mustBackup(t, path, newPath(t)).Path)
		killed := running[0]
		if err := killed.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		l.read(t, killed.lines, math.MaxInt)
		_ = killed.Wait() // it was killed
		l.check(t, path)
		running = running[1:]
	}
}
