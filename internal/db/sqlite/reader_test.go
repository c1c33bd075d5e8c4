package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReading reads databases in every state. The database and its log stay as they are.
func TestReading(t *testing.T) {
	inUse := func(t *testing.T) string {
		path := atRest(t, "a", "b", "c")
		mustCreate(t, open(t, path), "d")
		return path
	}
	closed := func(t *testing.T) string { return atRest(t, "a", "b", "c") }
	killed := func(t *testing.T) string { return copyOf(t, inUse(t)) }
	withoutIndex := func(t *testing.T) string {
		path := killed(t)
		_ = os.Remove(path + "-shm")
		return path
	}
	backup := func(t *testing.T) string { return backupOf(t, "a", "b", "c") }
	const copyIt, owner = "to a folder that can be written", "it belongs to another account"
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
		"at rest, read-only":    {make: closed, want: copyIt, readOnly: true},
		"killed, read-only":     {make: withoutIndex, want: copyIt, readOnly: true},
		"backup, read-only":     {make: backup, want: "3", readOnly: true},
		"at rest, of another":   {make: closed, want: owner, other: true},
		"in use, of another":    {make: inUse, want: owner, other: true},
		"backup, of another":    {make: backup, want: "3", other: true},
	} {
		for name := range reading {
			t.Run(state+"/"+name, func(t *testing.T) {
				t.Parallel()
				if c.other && os.Getuid() != 0 {
					return // only root makes files of another
				}
				path, target := c.make(t), newPath(t)
				args := []string{name, path, target}
				if c.readOnly || c.other {
					args = append(args, "as nobody")
					for suffix := range contents(t, path) {
						mustChmod(t, path+suffix, 0o444)
						if !c.other && os.Getuid() == 0 {
							_ = os.Chown(path+suffix, 65534, 65534)
						}
					}
					if c.readOnly {
						mustChmod(t, filepath.Dir(path), 0o555)
					}
					mustChmod(t, filepath.Dir(target), 0o777)
					for _, name := range []string{path, target} {
						mustChmod(t, filepath.Dir(filepath.Dir(name)), 0o755)
					}
				}
				before := contents(t, path)
				out, err := childCommand(t, nil, "read", args...).CombinedOutput()
				after := contents(t, path)
				if !strings.Contains(string(out), c.want) || (err == nil) != (len(c.want) == 1) {
					t.Errorf("got %s, error %v, want %s", out, err, c.want)
				}
				if after[""] != before[""] || after["-wal"] != before["-wal"] {
					t.Error("got the database or its log changed, want both as they were")
				}
				if (state == "backup" || c.other) && len(after) != len(before) {
					t.Errorf("got %d files, want the %d that were there", len(after), len(before))
				}
				if len(c.want) == 1 && state != "backup" && !c.readOnly && !c.other {
					mustClose(t, open(t, path)) // an empty log does no harm
				}
			})
		}
	}
}
