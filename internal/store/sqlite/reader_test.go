package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/db"
)

// readers are the operations that only read the store at path. They return a number of pets.
var readers = map[string]func(ctx context.Context, path, target string) (int64, error){
	"verify": func(ctx context.Context, path, _ string) (int64, error) {
		r, err := Verify(ctx, path)
		return count(r), err
	},
	"restore": func(ctx context.Context, path, target string) (int64, error) {
		r, err := Restore(ctx, target, path, true)
		return count(r), err
	},
	"backup": func(ctx context.Context, path, target string) (int64, error) {
		r, err := Backup(ctx, path, target, false)
		return count(r), err
	},
}

// count returns the number of pets in a report, if there is one.
func count(r db.Report) int64 {
	if len(r.Rows) == 0 {
		return 0
	}
	return r.Rows[0].Count
}

// readAs is a child that runs one of readers, as nobody if the test says so and runs as
// root, who may write anywhere.
func readAs(ctx context.Context, names []string) error {
	if len(names) > 3 && os.Getuid() == 0 {
		const nobody = 65534
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return err
		}
	}
	n, err := readers[names[0]](ctx, names[1], names[2])
	fmt.Print(n)
	return err
}

// contents returns the content of each file whose name begins with path, by the rest of
// its name.
func contents(t testing.TB, path string) map[string]string {
	t.Helper()
	names, _ := filepath.Glob(path + "*")
	all := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(name, path)] = string(content)
	}
	return all
}

// copyOf returns the path of a copy of a store in use, as a process that is killed leaves it.
func copyOf(t testing.TB, used string) string {
	t.Helper()
	path := newPath(t)
	for suffix, content := range contents(t, used) {
		mustWrite(t, path+suffix, content)
	}
	return path
}

// TestReading reads stores in every state. What only reads changes no byte, and a backup
// only records its time.
func TestReading(t *testing.T) {
	atRest := func(t *testing.T) string {
		path := newPath(t)
		s := open(t, path)
		for _, name := range []string{"a", "b", "c"} {
			mustCreate(t, s, name)
		}
		mustClose(t, s)
		return path
	}
	inUse := func(t *testing.T) string {
		path := atRest(t)
		mustCreate(t, open(t, path), "d")
		return path
	}
	killed := func(t *testing.T) string { return copyOf(t, inUse(t)) }
	withoutIndex := func(t *testing.T) string {
		path := killed(t)
		_ = os.Remove(path + "-shm")
		return path
	}
	backup := func(t *testing.T) string { return mustBackup(t, atRest(t), newPath(t)).Path }
	for state, c := range map[string]struct {
		make     func(t *testing.T) string
		want     string   // a number of pets, or an error
		records  []string // the suffixes of the files in which a backup records its time
		readOnly bool
	}{
		"at rest":               {make: atRest, want: "3", records: []string{""}},
		"in use":                {make: inUse, want: "4", records: []string{"-shm", "-wal"}},
		"killed":                {make: killed, want: "4", records: []string{"-shm", "-wal"}},
		"killed, without index": {make: withoutIndex, want: "4"},
		"backup":                {make: backup, want: "3"},
		"at rest, read-only":    {make: atRest, want: "3", readOnly: true},
		"backup, read-only":     {make: backup, want: "3", readOnly: true},
		"killed, read-only":     {make: killed, want: "copy both files to a folder that can be written", readOnly: true},
	} {
		for name := range readers {
			t.Run(state+"/"+name, func(t *testing.T) {
				t.Parallel()
				path, target := c.make(t), newPath(t)
				args := []string{name, path, target}
				if c.readOnly {
					args = append(args, "as nobody")
					for suffix := range contents(t, path) {
						mustChmod(t, path+suffix, 0o444)
					}
					mustChmod(t, filepath.Dir(path), 0o555)
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
				var changed, want []string
				for suffix, content := range after {
					if was, found := before[suffix]; !found || was != content {
						changed = append(changed, suffix)
					}
				}
				if name == "backup" {
					want = c.records
				}
				slices.Sort(changed)
				if !slices.Equal(changed, want) || len(after) != len(before) {
					t.Errorf("got %q changed and %d files, want %q and %d", changed, len(after), want, len(before))
				}
			})
		}
	}
}

func mustChmod(t testing.TB, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(name, 0o755) }) // to be removed
}
