package sqlite

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

// readers are the operations that only read the store at path. They return a number of pets.
var readers = map[string]func(ctx context.Context, path, target string) (int64, error){
	"verify": func(ctx context.Context, path, _ string) (int64, error) {
		r, err := Verify(ctx, path)
		return r.Pets, err
	},
	"restore": func(ctx context.Context, path, target string) (int64, error) {
		r, err := Restore(ctx, target, path, true)
		return r.Pets, err
	},
	"backup": func(ctx context.Context, path, target string) (int64, error) {
		r, err := Backup(ctx, path, target, false)
		return r.Pets, err
	},
	"copy": func(ctx context.Context, path, _ string) (n int64, err error) {
		r, err := OpenReader(ctx, path)
		if err != nil {
			return 0, err
		}
		_, keysErr := r.Keys(ctx)
		err = r.Snapshot(ctx, func(s store.Snapshot) error {
			for _, err := range s.Pets {
				if err != nil {
					return err
				}
				n++
			}
			return nil
		})
		return n, errors.Join(keysErr, err, r.Close())
	},
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

// contents returns the hash of each file beside path.
func contents(t testing.TB, path string) map[string]string {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	all := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = fmt.Sprintf("%d bytes, %x", len(content), sha256.Sum256(content))
	}
	return all
}

// copyOf returns the path of a copy of a store in use, as a process that is killed leaves it.
func copyOf(t testing.TB, used string) string {
	t.Helper()
	path := newPath(t)
	for _, suffix := range []string{"", "-wal", "-shm", "-lock"} {
		content, err := os.ReadFile(used + suffix)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, path+suffix, string(content))
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
		want     string // a number of pets, or an error
		records  bool   // a backup does
		readOnly bool
	}{
		"at rest":               {make: atRest, want: "3", records: true},
		"in use":                {make: inUse, want: "4", records: true},
		"killed":                {make: killed, want: "4", records: true},
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
					names, _ := filepath.Glob(path + "*")
					for _, name := range names {
						mustChmod(t, name, 0o444)
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
				if name != "backup" || !c.records {
					if !maps.Equal(before, after) {
						t.Errorf("got files %v, want %v", after, before)
					}
				} else if maps.Equal(before, after) || len(before) != len(after) || before["pets.db-wal"] != "" && before["pets.db"] != after["pets.db"] {
					t.Errorf("got files %v, want a time recorded in %v, in the log if there is one", after, before)
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

// readSlowly is a child that prints the first pet of a store, and the number of pets with
// the same name once its input has ended.
func readSlowly(ctx context.Context, names []string) error {
	r, err := OpenReader(ctx, names[0])
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Snapshot(ctx, func(s store.Snapshot) error {
		first, same := "", 0
		for p, err := range s.Pets {
			if err != nil {
				return err
			}
			if first == "" {
				first = p.Name
				fmt.Println(p.ID)
				_, _ = io.ReadAll(os.Stdin)
			}
			if p.Name == first {
				same++
			}
		}
		fmt.Println(same)
		return nil
	})
}

// TestReadingMeanwhile reads a store in use, and the files that a killed process left,
// while a server changes everything and stops.
func TestReadingMeanwhile(t *testing.T) {
	const n = 1200
	used := newPath(t)
	s := open(t, used)
	storetest.Fill(t, s, n, newPet(strings.Repeat("x", 3000)))
	const fillLog = "UPDATE pets SET category_id = category_id + 1"
	sqlOn(t, used, fillLog)
	killed := copyOf(t, used)
	mustClose(t, s) // reading its files has released its locks
	for _, path := range []string{used, killed} {
		if path == used {
			s = open(t, path)
			sqlOn(t, path, fillLog)
		}
		c := childCommand(t, nil, "slowly", path)
		in, inErr := c.StdinPipe()
		out, outErr := c.StdoutPipe()
		if err := errors.Join(inErr, outErr, c.Start()); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Scan()
		if path == killed {
			s = open(t, path)
		}
		for range 3 {
			sqlOn(t, path, "UPDATE pets SET name = name || 'y'")
			mustCreate(t, s, "another") // which copies the log
		}
		mustClose(t, s)
		mustClose(t, open(t, path))
		_ = in.Close()
		lines.Scan()
		if err := c.Wait(); err != nil || lines.Text() != fmt.Sprint(n) {
			t.Errorf("%s: got %q unchanged pets, error %v, want %d", path, lines.Text(), err, n)
		}
	}
}
