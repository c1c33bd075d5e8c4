package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReading reads databases in every state. The database and its log stay as they are.
func TestReading(t *testing.T) {
	closed := func(t *testing.T) string { return atRest(t, "a", "b", "c") }
	inUse := func(t *testing.T) string {
		path := closed(t)
		mustCreate(t, open(t, path), "d")
		return path
	}
	killed := func(t *testing.T) string { return copyOf(t, inUse(t)) }
	withoutIndex := func(t *testing.T) string {
		path := killed(t)
		_ = os.Remove(path + "-shm")
		return path
	}
	backup := func(t *testing.T) string { return backupOf(t, "a", "b", "c") }
	const denied, owner = "permission denied", "run this as its owner, chown it"
	for state, c := range map[string]struct {
		make     func(t *testing.T) string
		want     string // a number of notes, or an error
		readOnly bool   // for everybody
		other    bool   // the reader does not own the file
	}{
		"in use":                {make: inUse, want: "4"},
		"at rest":               {make: closed, want: "3"},
		"killed":                {make: killed, want: "4"},
		"killed, without index": {make: withoutIndex, want: "4"},
		"backup":                {make: backup, want: "3"},
		"at rest, read-only":    {make: closed, want: "3", readOnly: true},
		"killed, read-only":     {make: withoutIndex, want: denied, readOnly: true},
		"backup, read-only":     {make: backup, want: "3", readOnly: true},
		"at rest, of another":   {make: closed, want: owner, other: true},
		"backup, of another":    {make: backup, want: "3", other: true},
	} {
		for _, work := range []string{"list", "verify", "backup", "restore"} {
			t.Run(state+"/"+work, func(t *testing.T) {
				t.Parallel()
				if c.other && os.Getuid() != 0 {
					return // only root makes files of another
				}
				path, target := c.make(t), newPath(t)
				before, cmd := contents(t, path), child(t, nil, work, path, target)
				if c.readOnly || c.other {
					cmd.Env = append(cmd.Env, nobodyEnv+"=1")
					_ = os.Chmod(filepath.Dir(target), 0o777)
				}
				for suffix := range before {
					if c.readOnly || c.other {
						_ = os.Chmod(path+suffix, 0o444)
					}
					if c.readOnly && os.Getuid() == 0 {
						_ = os.Chown(path+suffix, nobody, nobody)
					}
				}
				if c.readOnly {
					_ = os.Chmod(filepath.Dir(path), 0o555)
					t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o755) }) // to be removed
				}
				wantUnchanged(t, path, func() {
					out, err := cmd.CombinedOutput()
					if !strings.Contains(string(out), c.want) || (err == nil) != (len(c.want) == 1) {
						t.Errorf("got %s, error %v, want %s", out, err, c.want)
					}
				})
				if got := contents(t, path); (state == "backup" || c.other) && len(got) != len(before) {
					t.Errorf("got %d files, want the %d that were there", len(got), len(before))
				}
			})
		}
	}
}

// TestCannotOpen takes one file's or the folder's permissions away: the error names it, and no other cause.
func TestCannotOpen(t *testing.T) {
	for what, c := range map[string]struct{ suffix, want string }{
		"file":   {"", "open %s: permission denied"},
		"log":    {logSuffix, "open %s-wal: permission denied"},
		"index":  {indexSuffix, "open %s-shm: permission denied"},
		"folder": {"", "cannot be written to: permission denied"},
	} {
		path, _ := killed(t)
		dir := filepath.Dir(path)
		for _, name := range []string{dir, path, path + "-wal", path + "-shm"} {
			_ = os.Chown(name, nobody, nobody)
		}
		if what == "folder" {
			_ = os.Remove(path + "-shm") // SQLite would make it
			_ = os.Chmod(dir, 0o555)
			t.Cleanup(func() { _ = os.Chmod(dir, 0o755) }) // to be removed
		} else {
			_ = os.Chmod(path+c.suffix, 0)
		}
		cmd := child(t, nil, "list", path)
		cmd.Env = append(cmd.Env, nobodyEnv+"=1")
		out, err := cmd.CombinedOutput()
		if want := strings.ReplaceAll(c.want, "%s", path); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %s, error %v, want %q", what, out, err, want)
		}
	}
}
