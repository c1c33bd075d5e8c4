package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/sqlite"
)

const lastBackup = "last_backup_timestamp_seconds"

func mustBackup(t testing.TB, path, to string) sqlite.Report {
	t.Helper()
	r, err := sqlite.Backup(t.Context(), path, to, false)
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

func TestBackup(t *testing.T) {
	path, to, restored := newPath(t), filepath.Join(t.TempDir(), "backup.db"), newPath(t)
	s := open(t, path)
	key := keys.Key{ID: "abcdefgh", Name: "someone", CreatedAt: time.Unix(1e9, 0).UTC()}
	once := newPet("Rex")
	once.Idempotency = pets.Idempotency{KeyID: key.ID, Key: "k1"}
	pet, err := s.CreatePet(t.Context(), once)
	if err := errors.Join(err, s.CreateKey(t.Context(), key)); err != nil {
		t.Fatal(err)
	}
	if got := metrics(t, s)[lastBackup]; got != 0 {
		t.Errorf("%s: got %v before there was one, want none", lastBackup, got)
	}
	began := time.Now().Unix()
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	r := mustBackup(t, link, to)
	if r.Path != to || r.Schema == 0 || r.Pets != 1 || r.Keys != 1 || r.Bytes == 0 {
		t.Errorf("Report: got %+v, want one pet and one key in %s", r, to)
	}
	if got := int64(metrics(t, s)[lastBackup]); got < began || got > time.Now().Unix() {
		t.Errorf("%s: got %v, want about %v", lastBackup, got, began)
	}
	if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 {
		t.Errorf("backup: got %v, error %v, want mode 600", info, err)
	}
	if r, err := sqlite.Verify(t.Context(), to); err != nil || r.Pets != 1 {
		t.Errorf("Verify of the backup: got %+v, error %v, want one pet", r, err)
	}
	mustBackup(t, to, to+"2")
	wantFiles(t, to, "backup.db", "backup.db2") // nothing else was made

	if _, err := sqlite.Restore(t.Context(), restored, to, false); err != nil {
		t.Fatalf("Restore: got error %v", err)
	}
	wantFiles(t, restored, "pets.db", "pets.db-lock")
	after := open(t, restored)
	if got, err := after.Key(t.Context(), key.ID); err != nil || got != key {
		t.Errorf("Key: got %v, error %v, want %v", got, err, key)
	}
	if got, err := after.CreatePet(t.Context(), once); err != nil || !reflect.DeepEqual(got, pet) {
		t.Errorf("CreatePet again: got %v, error %v, want %v", got, err, pet)
	}
}

func TestBackupRejects(t *testing.T) {
	path, dir := newPath(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	s := open(t, path)
	mustCreate(t, s, "Rex")
	for _, name := range []string{"there", "spoilt-wal", "shell-journal"} {
		mustWrite(t, in(name), "of another")
	}
	if err := errors.Join(os.Symlink(path, in("link")), os.Symlink("there", in("leads")), os.Symlink("gone/backup.db", in("dangling"))); err != nil {
		t.Fatal(err)
	}
	to, other := backupOf(t, "a"), newPath(t)
	mustCreate(t, open(t, other), "of another server")
	for _, stopped := range []bool{false, true} {
		if stopped { // there is no -wal then
			mustClose(t, s)
		}
		for _, c := range []struct {
			path, to, want string
			force          bool
		}{
			{path, path, "may be a file of a store", true},
			{in("link"), in("link"), "may be a file of a store", true},
			{to, to, "is the database itself", true},
			{path, in("spoilt"), "may be a file of a store, because " + in("spoilt-wal") + " is beside it", true},
			{path, in("shell"), "may be a file of a store, because " + in("shell-journal"), true},
			{path, in("dangling"), "is a symbolic link to nothing", true},
			{path, other, "may be a file of a store", true},
			{path, other + "-wal", "a name that ends in -wal", true},
			{path, in("there"), "already exists", false},
			{path, dir, "is not a regular file", true},
			{path, in("missing/backup.db"), "its folder does not exist", true},
			{in("none"), in("backup.db"), "there is no database", true},
			{in("there"), in("backup.db"), "is not an SQLite database", true},
		} {
			_, err := sqlite.Backup(t.Context(), c.path, c.to, c.force)
			wantError(t, "Backup to "+c.to, err, c.want)
		}
	}
	wantFiles(t, in("x"), "dangling", "leads", "link", "shell-journal", "spoilt-wal", "there")
	if _, err := sqlite.Backup(t.Context(), path, in("leads"), true); err != nil {
		t.Errorf("Backup with force: got error %v", err)
	}
	if r, err := sqlite.Verify(t.Context(), in("there")); err != nil || r.Pets != 1 {
		t.Errorf("where the link leads: got %+v, error %v, want one pet", r, err)
	}
}

func TestBackupInterrupted(t *testing.T) {
	path, dir := newPath(t), t.TempDir()
	s := open(t, path)
	mustLoad(t, s, 20_000, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := sqlite.Backup(ctx, path, filepath.Join(dir, "backup.db"), false)
		ended <- err
	}()
	for begun := false; !begun && len(ended) == 0; { // until a part is copied
		files, _ := filepath.Glob(filepath.Join(dir, ".backup.db.*"))
		for _, file := range files {
			info, err := os.Stat(file)
			begun = begun || err == nil && info.Size() > 0
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Backup: got error %v, want it interrupted", err)
	}
	wantFiles(t, filepath.Join(dir, "x"))
}

// mustLoad fills the store with n pets of so many bytes each.
func mustLoad(t testing.TB, s pets.Store, n, bytes int) {
	t.Helper()
	name := strings.Repeat("x", bytes)
	if _, err := s.Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
		for range n {
			if !yield(newPet(name), nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// damageLeaf overwrites the last leaf page of a table or an index.
func damageLeaf(t testing.TB, path, name string) {
	t.Helper()
	db := mustSQL(t, path)
	var page int64
	err := db.QueryRow("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", name).Scan(&page)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, page)
}

func TestVerify(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	mustLoad(t, s, 2000, 90)
	if r, err := sqlite.Verify(t.Context(), path); err != nil || r.Pets != 2000 { // beside a server
		t.Errorf("got %+v, error %v, want 2000 pets", r, err)
	}
	mustClose(t, s)
	sound, _ := os.ReadFile(path)
	sqlOn(t, path, "PRAGMA ignore_check_constraints = ON; UPDATE pets SET status = 'lost' WHERE id = 1")
	_, err := sqlite.Backup(t.Context(), path, newPath(t), false)
	wantError(t, "Backup of a wrong status", err, "CHECK constraint failed in pets")
	for _, name := range []string{"pets", "pets_by_status", "keys", "goose_db_version"} {
		mustWrite(t, path, string(sound))
		damageLeaf(t, path, name)
		_, err := sqlite.Verify(t.Context(), path)
		wantError(t, name, err, "is damaged")
		wantError(t, name, err, " "+name)
		if _, err := sqlite.Backup(t.Context(), path, newPath(t), false); name == "pets" || name == "goose_db_version" {
			wantError(t, "Backup of a damaged "+name, err, path+": a damaged page was found: ")
		}
		_, err = sqlite.Restore(t.Context(), newPath(t), path, false)
		wantError(t, "Restore of a damaged backup", err, "cannot be restored")
	}
}

// TestRestoreBesideShell restores while a shell has the file open.
func TestRestoreBesideShell(t *testing.T) {
	from, path := backupOf(t, "of the backup"), newPath(t)
	mustClose(t, open(t, path))
	shell := mustSQL(t, path)
	defer shell.Close()
	if err := shell.QueryRow("SELECT count(*) FROM pets").Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.Restore(t.Context(), path, from, true)
	wantError(t, "Restore beside a shell", err, path+": another program, such as a shell, has it open")
	if r.Path != "" {
		t.Errorf("Report: got %+v, want no path: nothing was done", r)
	}
	if _, err := shell.Exec("INSERT INTO pets (name, category_id, status) VALUES ('by hand', 1, 'sold')"); err != nil {
		t.Errorf("the shell: got error %v", err)
	}
	if err := shell.Close(); err != nil {
		t.Error(err)
	}
	if got := walk(t, open(t, path))[1].Name; got != "by hand" {
		t.Errorf("got %q, want the pet of the shell", got)
	}
}

// TestBackupOutcome checks that the Report says that the backup is there although
// its time cannot be recorded.
func TestBackupOutcome(t *testing.T) {
	path, to := newPath(t), filepath.Join(t.TempDir(), "backup.db")
	mustCreate(t, open(t, path), "Rex")
	shell := mustSQL(t, path)
	defer shell.Close()
	shell.SetMaxOpenConns(1)
	if _, err := shell.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // interrupts it once it waits for the shell
		for ctx.Err() == nil {
			if _, err := os.Stat(to); err == nil {
				cancel()
			}
		}
	}()
	r, err := sqlite.Backup(ctx, path, to, false)
	cancel()
	wantError(t, "Backup", err, "the backup is complete, but its time could not be recorded")
	if r.Path != to || r.Pets != 1 {
		t.Errorf("Report: got %+v, want the backup", r)
	}
	if r, err := sqlite.Verify(t.Context(), to); err != nil || r.Pets != 1 {
		t.Errorf("Verify: got %+v, error %v, want one pet", r, err)
	}
}

// Files that root makes belong to the owner of the store, and those of a new store to
// the owner of its folder.
func TestOwner(t *testing.T) {
	path, restored, backup := newPath(t), newPath(t), filepath.Join(t.TempDir(), "backup.db")
	err := os.Chmod(filepath.Dir(backup), os.ModeSticky|0o777) // like /tmp
	uid := os.Geteuid()
	if uid == 0 {
		uid = 65534
		err = errors.Join(err, os.Chown(filepath.Dir(path), uid, uid), os.Chown(filepath.Dir(restored), uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	mustCreate(t, s, "Rex")
	mustBackup(t, path, backup)
	for range 2 { // the second has a store to replace
		if _, err := sqlite.Restore(t.Context(), restored, backup, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{path, path + "-lock", path + "-wal", path + "-shm", backup, restored, restored + "-lock"} {
		info, err := os.Stat(name)
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != uid {
			t.Errorf("%s: got %v, error %v, want the owner %d", name, info, err, uid)
		}
	}
}

func TestRestoreRejects(t *testing.T) {
	from, path, dir := backupOf(t, "of the backup"), newPath(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("empty"), "")
	mustWrite(t, in("text"), "my notes")
	sqlOn(t, in("songs"), "CREATE TABLE songs (title TEXT)")
	mustClose(t, open(t, in("newer")))
	sqlOn(t, in("newer"), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	s := open(t, path)
	_, err := sqlite.Restore(t.Context(), path, from, true)
	wantError(t, "while a server has it", err, "a server or a command has it open")
	mustCreate(t, s, "Rex")
	mustClose(t, s)
	_, err = sqlite.Restore(t.Context(), path, from, false)
	wantError(t, "without force", err, path+" already exists")
	before, _ := os.ReadFile(path)
	for from, want := range map[string]string{
		in("empty"): "the database is empty",
		in("text"):  "is not an SQLite database",
		in("songs"): "belongs to another program and was not changed",
		in("newer"): "is newer than this program",
		in("none"):  "none: no such file",
		path:        "is the database itself",
	} {
		_, err := sqlite.Restore(t.Context(), path, from, true)
		wantError(t, from, err, want)
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: got the store changed, want it as it was", from)
		}
		wantFiles(t, path, "pets.db", "pets.db-lock")
	}
	mustWrite(t, path, strings.Repeat("junk ", 1000))
	if _, err := sqlite.Restore(t.Context(), path, from, true); err != nil {
		t.Errorf("over junk with force: got error %v", err)
	}
	if got := walk(t, open(t, path))[1].Name; got != "of the backup" {
		t.Errorf("got %q, want the pet of the backup", got)
	}
}

// killed returns the path of a store whose process was killed, and the pets that
// it acknowledged, which are in its log.
func killed(t testing.TB) (string, ledger) {
	t.Helper()
	path, l := newPath(t), ledger{}
	c := startCreating(t, "create", path)
	c.acknowledged(t, l, 20)
	c.kill(t, l)
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("log: got %v, error %v, want one", info, err)
	}
	return path, l
}

// A log is never applied to another file, and only Restore with force removes it.
func TestRestoreWithLog(t *testing.T) {
	from := backupOf(t, "a", "b", "c")
	refused := map[string]string{"empty": "is missing or empty, but its log", "renamed": "is a backup, but its log"}
	for what, spoil := range map[string]func(path string) error{
		"sound":      func(path string) error { return nil },
		"unreadable": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("junk"), 4096), 0o600) },
		"journal": func(path string) error { // a rollback journal of the old file
			return errors.Join(os.WriteFile(path+"-journal", bytes.Repeat([]byte{0xd9, 0xd5, 0x05, 0xf9}, 4096), 0o600), os.WriteFile(path, []byte("junk"), 0o600))
		},
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"renamed": func(path string) error { return os.Rename(backupOf(t, "other"), path) }, // by hand, or by a restore killed then
	} {
		path, _ := killed(t)
		log, err := os.ReadFile(path + "-wal")
		if err := errors.Join(err, spoil(path)); err != nil {
			t.Fatal(err)
		}
		if want := refused[what]; want != "" {
			_, verifyErr := sqlite.Verify(t.Context(), path)
			wantError(t, what+": Verify", verifyErr, want)
			_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			wantError(t, what+": Open", err, want)
			_, err = sqlite.Restore(t.Context(), path, from, false)
			wantError(t, what+": Restore without force", err, path)
			if got, err := os.ReadFile(path + "-wal"); !bytes.Equal(got, log) {
				t.Errorf("%s: got the log changed, error %v, want it as it was", what, err)
			}
		}
		if _, err := sqlite.Restore(t.Context(), path, from, true); err != nil {
			t.Errorf("%s: Restore: got error %v", what, err)
		}
		wantFiles(t, path, "pets.db", "pets.db-lock")
		if r, err := sqlite.Verify(t.Context(), path); err != nil || r.Pets != 3 {
			t.Errorf("%s: got %+v, error %v, want three pets", what, r, err)
		}
		if p := mustCreate(t, open(t, path), "next"); p.ID != 4 {
			t.Errorf("%s: got id %d, want 4", what, p.ID)
		}
	}
}

func TestKill(t *testing.T) {
	path, l := killed(t)
	for round := range 5 {
		l.check(t, path)
		c := startCreating(t, "create", path)
		c.acknowledged(t, l, 200*(round+1))
		c.kill(t, l)
	}
	l.check(t, path)
}

// Another program, which does not know this package's lock, may write meanwhile.
func TestOtherProgram(t *testing.T) {
	path, l := newPath(t), ledger{}
	mustClose(t, open(t, path))
	c := startCreating(t, "shell", path)
	for range 100 {
		c.acknowledged(t, l, 1)
		mustClose(t, open(t, path))
	}
	c.kill(t, l)
	l.check(t, path)
}

func TestBackupUnderLoad(t *testing.T) {
	path, l := newPath(t), ledger{}
	c := startCreating(t, "create", path)
	for range 5 {
		c.acknowledged(t, l, 50)
		l.check(t, mustBackup(t, path, newPath(t)).Path)
	}
	c.kill(t, l)
	l.check(t, path)
}
