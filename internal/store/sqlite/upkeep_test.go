package sqlite

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/storetest"
)

func mustBackup(t testing.TB, path, to string) db.Report {
	t.Helper()
	r, err := Backup(t.Context(), path, to, false)
	if err != nil {
		t.Fatalf("Backup: got error %v", err)
	}
	return r
}

// backupOf returns the path of a backup that holds pets with these names.
func backupOf(t testing.TB, names ...string) string {
	t.Helper()
	path, to := newPath(t), filepath.Join(t.TempDir(), "backup.db")
	s := open(t, path)
	for _, name := range names {
		mustCreate(t, s, name)
	}
	mustBackup(t, path, to)
	return to
}

// wantPets checks that the file is sound and holds n pets.
func wantPets(t testing.TB, path string, n int64) {
	t.Helper()
	if r, err := Verify(t.Context(), path); err != nil || r.Rows[0].Count != n {
		t.Errorf("Verify of %s: got %+v, error %v, want %d pets", path, r, err, n)
	}
}

// TestBackup backs a store up beside a server and restores the backup elsewhere.
func TestBackup(t *testing.T) {
	const lastBackup = "last_backup_timestamp_seconds"
	path, to, restored := newPath(t), newPath(t), newPath(t)
	s := open(t, path)
	mustCreate(t, s, "Rex")
	if err := s.CreateKey(t.Context(), keys.Key{ID: "abcdefgh"}); err != nil {
		t.Fatal(err)
	}
	if got := figure(t, s, lastBackup); got != 0 {
		t.Errorf("%s: got %v before there was one, want none", lastBackup, got)
	}
	began := time.Now().Unix()
	if r := mustBackup(t, path, to); r.Path != to || r.Schema == 0 || r.Rows[0].Count != 1 || r.Rows[1].Count != 1 || r.Bytes == 0 {
		t.Errorf("Report: got %+v, want one pet and one key in %s", r, to)
	}
	if got := int64(figure(t, s, lastBackup)); got < began || got > time.Now().Unix() {
		t.Errorf("%s: got %v, want about %v", lastBackup, got, began)
	}
	wantFiles(t, path, "pets.db", "pets.db-lock", "pets.db-shm", "pets.db-wal")
	mustBackup(t, to, to+"2")
	wantFiles(t, to, "pets.db", "pets.db2") // nothing else was made
	for range 2 {                           // the second has a store to replace
		if _, err := Restore(t.Context(), restored, to, true); err != nil {
			t.Fatalf("Restore: got error %v", err)
		}
		wantFiles(t, restored, "pets.db", "pets.db-lock")
	}
	after := open(t, restored)
	if _, err := after.Key(t.Context(), "abcdefgh"); err != nil || !reflect.DeepEqual(walk(t, s), walk(t, after)) {
		t.Errorf("restored: got %v and error %v, want what was backed up", walk(t, after), err)
	}
}

func TestBackupRejects(t *testing.T) {
	path, backup, dir := newPath(t), backupOf(t, "a"), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	s := open(t, path)
	mustWrite(t, in("there"), "of another")
	mustWrite(t, in("shell-journal"), "of another")
	for name, to := range map[string]string{"link": path, "leads": "there"} {
		if err := os.Symlink(to, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, stopped := range []bool{false, true} {
		if stopped { // there is no -wal then
			mustClose(t, s)
		}
		for _, c := range []struct{ path, to, want string }{
			{path, in("link"), "may be a file of a store"},
			{backup, path, "may be a file of a store"},
			{backup, backup, "is the database itself"},
			{path, in("shell"), "may be a file of a store, because " + in("shell-journal")},
		} {
			_, err := Backup(t.Context(), c.path, c.to, true)
			wantError(t, "Backup to "+c.to, err, c.want)
		}
	}
	wantFiles(t, in("x"), "leads", "link", "shell-journal", "there")
	if _, err := Backup(t.Context(), path, in("leads"), true); err != nil {
		t.Errorf("Backup with force: got error %v", err)
	}
	wantPets(t, in("there"), 0)
}

func TestVerify(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	storetest.Fill(t, s, 2000, newPet(strings.Repeat("x", 90)))
	wantPets(t, path, 2000) // beside a server
	mustClose(t, s)
	sound, _ := os.ReadFile(path)
	sqlOn(t, path, "PRAGMA ignore_check_constraints = ON; UPDATE pets SET status = 'lost' WHERE id = 1")
	to := newPath(t)
	_, err := Backup(t.Context(), path, to, false)
	wantError(t, "Backup of a wrong status", err, "CHECK constraint failed in pets")
	wantFiles(t, to)
	for _, name := range []string{"pets", "pets_by_status", "keys", "goose_db_version"} {
		mustWrite(t, path, string(sound))
		damageLeaf(t, path, name)
		_, err := Verify(t.Context(), path)
		wantError(t, name, err, "is damaged")
		wantError(t, name, err, " "+name)
		_, err = Restore(t.Context(), newPath(t), path, false)
		wantError(t, "Restore of a damaged backup", err, "cannot be restored")
	}
}

func TestRestoreRejects(t *testing.T) {
	path, dir, backup := newPath(t), t.TempDir(), backupOf(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("empty"), "")
	mustWrite(t, in("text"), "my notes")
	mustWrite(t, in("lone-wal"), "acknowledged writes")
	sqlOn(t, in("songs"), "CREATE TABLE songs (title TEXT)")
	s := open(t, path)
	mustCreate(t, s, "Rex")
	mustClose(t, s)
	shell := connect(path, url.Values{})
	if err := shell.QueryRow("SELECT name FROM pets").Scan(new(string)); err != nil {
		t.Fatal(err)
	}
	_, err := Restore(t.Context(), path, backup, true)
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
		r, err := Restore(t.Context(), path, from, true)
		wantError(t, from, err, want)
		if errors.Is(err, db.ErrNone) || errors.Is(err, db.ErrLoneLog) { // the advice is about the store to replace
			t.Errorf("%s: got error %v, want none of the store", from, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) || r.Path != "" {
			t.Errorf("%s: got the store changed and %+v, want it as it was and no path", from, r)
		}
		wantFiles(t, path, "pets.db", "pets.db-lock")
	}
}

// killed returns the path of a store whose process was killed, and its pets, some of which
// are in its log.
func killed(t testing.TB) (string, ledger) {
	t.Helper()
	used := newPath(t)
	s := open(t, used)
	for n := range 20 {
		mustCreate(t, s, longPet("killed", n).Name)
	}
	return copyOf(t, used), walk(t, s)
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
			_, err := Open(t.Context(), path, db.Options{})
			wantError(t, what+": Open", err, c.refused)
			_, err = Restore(t.Context(), path, from, false)
			wantError(t, what+": Restore without force", err, path)
			if got, err := os.ReadFile(path + "-wal"); !bytes.Equal(got, log) {
				t.Errorf("%s: got the log changed, error %v, want it as it was", what, err)
			}
		}
		if _, err := Restore(t.Context(), path, from, true); err != nil {
			t.Errorf("%s: Restore: got error %v", what, err)
		}
		wantFiles(t, path, "pets.db", "pets.db-lock")
		wantPets(t, path, 3)
		if p := mustCreate(t, open(t, path), "next"); p.ID != 4 {
			t.Errorf("%s: got id %d, want 4", what, p.ID)
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
			c := childCommand(t, nil, "create", path)
			out, err := c.StdoutPipe()
			if err := errors.Join(err, c.Start()); err != nil {
				t.Fatal(err)
			}
			running = append(running, process{c, bufio.NewScanner(out)})
		}
		for _, c := range running {
			if n := 30 * (round + 1); l.read(t, c.lines, n) < n {
				t.Fatalf("got the end of the child's output, want %d pets", n)
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

// Open does not touch the log while another program, which does not know this package's
// lock, writes.
func TestOtherProgram(t *testing.T) {
	patient := toWrite
	defer func() { toWrite = patient }()
	toWrite = url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}
	path := newPath(t)
	mustClose(t, open(t, path))
	shell := connect(path, toWrite)
	defer shell.Close()
	tx, err := shell.Begin()
	if err == nil {
		_, err = tx.Exec(insertPet, values(&pets.Pet{NewPet: newPet("Rex")})...)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, db.Options{})
	wantError(t, "Open", err, "another program has locked it")
	err = tx.Commit()
	if got := len(walk(t, open(t, path))); got != 1 || err != nil {
		t.Errorf("got %d pets, error %v, want 1", got, err)
	}
}
