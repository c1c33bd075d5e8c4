package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/dbtest"
)

// TestReading reads databases in every state, also as nobody, who may lack permissions. They stay as they are.
func TestReading(t *testing.T) {
	inUse := func(t testing.TB, texts ...string) string {
		path := atRest(t, texts...)
		mustCreate(t, open(t, path), "d")
		return path
	}
	killed := func(t testing.TB, texts ...string) string { return copyOf(t, inUse(t, texts...)) }
	withoutIndex := func(t testing.TB, texts ...string) string {
		path := killed(t, texts...)
		_ = os.Remove(path + "-shm")
		return path
	}
	const denied, owner, folder = "permission denied", "run this as its owner, chown it", "/.."
	type modes map[string]os.FileMode // of the files by suffix, and of the folder
	readOnly := modes{"": 0o444, logSuffix: 0o444, indexSuffix: 0o444, folder: 0o555}
	for state, c := range map[string]struct {
		make  func(t testing.TB, texts ...string) string
		want  string // a number of notes, or an error
		modes modes  // nil if the reader is this user
		other bool   // the reader does not own the file
	}{
		"in use":                {make: inUse, want: "4"},
		"at rest":               {make: atRest, want: "3"},
		"killed":                {make: killed, want: "4"},
		"killed, without index": {make: withoutIndex, want: "4"},
		"backup":                {make: backupOf, want: "3"},
		"at rest, read-only":    {make: atRest, want: "3", modes: readOnly},
		"killed, read-only":     {make: withoutIndex, want: denied, modes: readOnly},
		"backup, read-only":     {make: backupOf, want: "3", modes: readOnly},
		"at rest, of another":   {make: atRest, want: owner, modes: modes{"": 0o444}, other: true},
		"backup, of another":    {make: backupOf, want: "3", modes: modes{"": 0o444}, other: true},
		"denied file":           {make: killed, want: "open %s: permission denied", modes: modes{"": 0}},
		"denied log":            {make: killed, want: "open %s-wal: permission denied", modes: modes{logSuffix: 0}},
		"denied index":          {make: killed, want: "open %s-shm: permission denied", modes: modes{indexSuffix: 0}},
		"read-only folder":      {make: withoutIndex, want: "cannot be written to: permission denied", modes: modes{folder: 0o555}},
	} {
		for _, work := range []string{"list", "verify", "backup", "restore"} {
			t.Run(state+"/"+work, func(t *testing.T) {
				t.Parallel()
				if c.other && os.Getuid() != 0 {
					return // only root makes files of another
				}
				path, target := c.make(t, "a", "b", "c"), newPath(t)
				before, cmd := contents(t, path), child(t, nil, work, path, target)
				if c.modes != nil {
					cmd.Env = append(cmd.Env, nobodyEnv+"=1")
					_ = os.Chmod(filepath.Dir(target), 0o777)
				}
				for suffix := range before {
					if c.modes != nil && !c.other {
						_ = os.Chown(path+suffix, nobody, nobody)
					}
				}
				wantUnchanged(t, path, func() {
					for suffix, mode := range c.modes {
						name := filepath.Clean(path + suffix)
						_ = os.Chmod(name, mode)
						defer os.Chmod(name, 0o700) // to be read and removed
					}
					wantRun(t, cmd, len(c.want) == 1, strings.ReplaceAll(c.want, "%s", path))
				})
				if state == "backup" || c.other {
					assert.Len(t, contents(t, path), len(before), "files")
				}
			})
		}
	}
}

// TestBackup backs a database up beside a server, and never over a file of a store.
func TestBackup(t *testing.T) {
	path, to, link := newPath(t), newPath(t), newPath(t)
	mustCreate(t, open(t, path), "a")
	for _, suffix := range suffixes {
		ofStore := newPath(t)
		mustWrite(t, ofStore+suffix, "of another")
		_, err := schema.Backup(t.Context(), path, ofStore, true)
		assert.ErrorContains(t, err, "may be a file of a store, because "+ofStore+suffix, "Backup")
	}
	mustWrite(t, to, "of another")
	require.NoError(t, os.Symlink(to, link))
	_, err := schema.Backup(t.Context(), path, link, false)
	assert.ErrorContains(t, err, "already exists", "Backup without force")
	r, err := schema.Backup(t.Context(), path, link, true)
	require.NoError(t, err)
	rows, size := []db.Rows{{Table: "notes", Count: 1}, {Table: "tags"}}, len(contents(t, to)[""])
	assert.Equal(t, db.Report{Schema: 1, Rows: rows, Bytes: int64(size)}, r)
	wantNotes(t, to, 1)
	wantFiles(t, to, "notes.db")
	wantFiles(t, link, "notes.db")
}

func TestVerify(t *testing.T) {
	path := atRest(t)
	sqlOn(t, path, "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO notes (text) SELECT printf('%090d', i) FROM n")
	wantNotes(t, path, 2000)
	sound, _ := os.ReadFile(path)
	sqlOn(t, path, "PRAGMA ignore_check_constraints = ON; UPDATE notes SET text = 'wrong' WHERE id = 1")
	unversioned := newPath(t) // as .dump may save it
	mustWrite(t, unversioned, string(sound))
	sqlOn(t, unversioned, "DELETE FROM goose_db_version WHERE version_id > 0")
	_, err := schema.Verify(t.Context(), unversioned)
	assert.ErrorContains(t, err, "is damaged: goose_db_version has no version", "no version")
	sqlOn(t, unversioned, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1)")
	_, err = schema.Verify(t.Context(), unversioned)
	require.NoError(t, err)
	to := newPath(t)
	_, err = schema.Backup(t.Context(), path, to, false)
	assert.ErrorContains(t, err, "CHECK constraint failed in notes", "Backup of a wrong row")
	wantFiles(t, to)
	for _, name := range []string{"notes", "notes_by_text", "tags", "goose_db_version"} {
		mustWrite(t, path, string(sound))
		damageLeaf(t, path, name)
		_, err := schema.Verify(t.Context(), path)
		assert.ErrorContains(t, err, "is damaged:\n", name) // and what is
		_, err = schema.Restore(t.Context(), newPath(t), path)
		assert.ErrorContains(t, err, path+" is damaged", "Restore of a damaged backup")
		assert.NotErrorIs(t, err, db.ErrDamaged) // the advice would be about the store
	}
}

// TestAltered changes the schema of a sound file. Verify and Restore refuse it, Backup says so, Open warns or refuses.
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
		r, err := schema.Backup(t.Context(), path, to, false)
		require.NoError(t, err, statement)
		_, verifyErr := schema.Verify(t.Context(), to)
		_, restoreErr := schema.Restore(t.Context(), newPath(t), to)
		for _, err := range []error{r.Altered, verifyErr, restoreErr} {
			assert.ErrorContains(t, err, db.ErrAltered.Error()+": it has "+c.differs, statement)
		}
		log, logger := dbtest.NewLog()
		d, err := schema.Open(t.Context(), path, db.Options{Logger: logger})
		if c.refused != "" {
			assert.ErrorContains(t, err, c.refused, statement)
			continue
		}
		mustCreate(t, d, "b")
		require.NoError(t, limited(d.Close))
		assert.Regexp(t, "^.*level=WARN.*"+c.differs+".*\n$", log.String(), statement)
	}
}

func TestRestoreRejects(t *testing.T) {
	blank := newPath(t)
	sqlOn(t, blank, "PRAGMA user_version = 1")
	for from, want := range map[string]string{
		blank:      "it has no index notes_by_text, no table notes, no table tags",
		newPath(t): "the backup cannot be read",
	} {
		path := newPath(t)
		_, err := schema.Restore(t.Context(), path, from)
		assert.ErrorContains(t, err, want, from)
		assert.NotErrorIs(t, err, db.ErrNone) // the advice is about the store to make
		assert.Subset(t, map[string]string{lockSuffix: ""}, contents(t, path), "files of %s", from)
	}
	for _, suffix := range []string{"", logSuffix, indexSuffix, journalSuffix} {
		path := newPath(t)
		mustWrite(t, path+suffix, "")
		wantUnchanged(t, path, func() {
			_, err := schema.Restore(t.Context(), path, backupOf(t))
			assert.ErrorContains(t, err, path+suffix+" is in the way", "beside "+suffix)
		})
	}
	path := newPath(t) // whose server still runs
	open(t, path)
	_, err := schema.Restore(t.Context(), path, backupOf(t))
	assert.ErrorContains(t, err, "a server or a command has it open", "while a server runs")
}

// TestRestore checks which identifiers follow in a restored database.
func TestRestore(t *testing.T) {
	deleted, lost := atRest(t, "a", "b", "c", "d", "e"), atRest(t, "a", "b", "c")
	sqlOn(t, deleted, "DELETE FROM notes WHERE id > 3")
	sqlOn(t, lost, "DELETE FROM sqlite_sequence")
	for what, c := range map[string]struct {
		from string
		last int64 // the last identifier that was given
		want ledger
	}{
		"empty":             {backupOf(t), 0, ledger{}},
		"last rows deleted": {deleted, 5, ledger{1: "a", 2: "b", 3: "c"}},
		"sequence lost":     {lost, 3, ledger{1: "a", 2: "b", 3: "c"}},
	} {
		path := newPath(t)
		r, err := schema.Restore(t.Context(), path, c.from)
		require.NoError(t, err, what)
		last := c.last + 1_000_000_000
		assert.Equal(t, []db.Rows{{Table: "notes", Count: int64(len(c.want)), LastID: last}, {Table: "tags"}}, r.Rows, what)
		wantFiles(t, path, "notes.db", "notes.db-lock")
		d := open(t, path)
		mustCreate(t, d, "next")
		c.want[last+1] = "next"
		assert.Equal(t, c.want, walk(t, d), what)
	}
}
