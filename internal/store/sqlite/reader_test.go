package sqlite_test

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
	"testing"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/store/storetest"
)

// readers are the operations that only read the store at path. They return how many pets
// they found.
var readers = map[string]func(ctx context.Context, path string) (pets int64, err error){
	"verify": func(ctx context.Context, path string) (int64, error) {
		r, err := sqlite.Verify(ctx, path)
		return r.Pets, err
	},
	"read": func(ctx context.Context, path string) (n int64, err error) {
		r, err := sqlite.OpenReader(ctx, path)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		if all, err := r.Keys(ctx); err != nil || len(all) != 1 {
			return 0, fmt.Errorf("got %d keys, error %w, want 1", len(all), err)
		}
		err = r.Snapshot(ctx, func(s store.Snapshot) error {
			for _, err := range s.Pets {
				if err != nil {
					return err
				}
				n++
			}
			return nil
		})
		return n, err
	},
	"restore": func(ctx context.Context, path string) (int64, error) {
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		r, err := sqlite.Restore(ctx, filepath.Join(dir, "restored.db"), path, false)
		return r.Pets, err
	},
	"backup": func(ctx context.Context, path string) (int64, error) {
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		r, err := sqlite.Backup(ctx, path, filepath.Join(dir, "backup.db"), false)
		return r.Pets, err
	},
}

// readAs runs one of readers in a process of its own, as another user if the test is root,
// because root may write anywhere.
func readAs(ctx context.Context, names []string) error {
	if len(names) > 2 && os.Getuid() == 0 {
		if err := dropPrivileges(); err != nil {
			return err
		}
	}
	n, err := readers[names[0]](ctx, names[1])
	if err == nil {
		fmt.Print(n)
	}
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
	mayRead := func(path string) { // another user, but not write
		names, _ := filepath.Glob(path + "*")
		for _, name := range names {
			if err := os.Chmod(name, 0o444); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Chmod(filepath.Dir(path), 0o555), os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o755) })
	}
	atRest := func(t *testing.T) string {
		path := newPath(t)
		s := open(t, path)
		if err := s.CreateKey(t.Context(), keys.Key{ID: "abcdefgh"}); err != nil {
			t.Fatal(err)
		}
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
	killedThere := func(t *testing.T) string { return copyOf(t, inUse(t)) }
	for _, c := range []struct {
		state    string
		make     func(t *testing.T) string
		pets     int64
		readOnly bool
		records  bool // a backup does
	}{
		{"at rest", atRest, 3, false, true},
		{"in use", inUse, 4, false, true},
		{"killed", killedThere, 4, false, true},
		{"killed, without index", func(t *testing.T) string {
			path := killedThere(t)
			if err := os.Remove(path + "-shm"); err != nil {
				t.Fatal(err)
			}
			return path
		}, 4, false, false},
		{"backup", func(t *testing.T) string { return mustBackup(t, atRest(t), newPath(t)).Path }, 3, false, false},
		{"at rest, read-only", atRest, 3, true, false},
		{"backup, read-only", func(t *testing.T) string { return mustBackup(t, atRest(t), newPath(t)).Path }, 3, true, false},
		{"killed, read-only", killedThere, 0, true, false},
	} {
		for name := range readers {
			t.Run(c.state+"/"+name, func(t *testing.T) {
				t.Parallel()
				path, args := c.make(t), []string{name}
				args = append(args, path)
				if c.readOnly {
					mayRead(path)
					args = append(args, "unprivileged")
				}
				before := contents(t, path)
				out, err := childCommand(t, nil, "read", args...).CombinedOutput()
				after := contents(t, path)
				switch {
				case c.pets == 0:
					if err == nil || !strings.Contains(string(out), "copy both files to a folder that can be written") {
						t.Errorf("got %s, error %v, want it refused with advice", out, err)
					}
				case err != nil || string(out) != fmt.Sprint(c.pets):
					t.Errorf("got %s, error %v, want %d pets", out, err, c.pets)
				}
				if name == "backup" && c.records {
					if maps.Equal(before, after) {
						t.Error("got no time recorded")
					}
					if before["pets.db-wal"] != "" && before["pets.db"] != after["pets.db"] || len(before) != len(after) {
						t.Errorf("backup: got %v, want only the log changed of %v", after, before)
					}
				} else if !maps.Equal(before, after) {
					t.Errorf("got files %v, want %v", after, before)
				}
			})
		}
	}
}

// readSlowly is a child that prints the first pet of a store, and the number of pets with
// the same name once its input has ended.
func readSlowly(ctx context.Context, names []string) error {
	r, err := sqlite.OpenReader(ctx, names[0])
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Snapshot(ctx, func(s store.Snapshot) error {
		first, same := "", 0
		for p, err := range s.Pets {
			switch {
			case err != nil:
				return err
			case first == "":
				first = p.Name
				fmt.Println(p.ID)
				if _, err := io.ReadAll(os.Stdin); err != nil {
					return err
				}
			}
			if p.Name == first {
				same++
			}
		}
		fmt.Println(same)
		return nil
	})
}

// TestReadingMeanwhile reads a store, and the files that a killed process left, while
// a server starts, changes everything and stops.
func TestReadingMeanwhile(t *testing.T) {
	const n = 3000
	used := newPath(t)
	s := open(t, used)
	storetest.Fill(t, s, n, newPet(strings.Repeat("x", 3000)))
	sqlOn(t, used, "UPDATE pets SET category_id = 5") // again in the log
	killed := copyOf(t, used)
	mustClose(t, s)
	for _, path := range []string{killed, used} {
		if path == used {
			s = open(t, path)
			mustCreate(t, s, strings.Repeat("x", 3000))
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
		want := n
		if path == used {
			want++
		}
		if err := c.Wait(); err != nil || lines.Text() != fmt.Sprint(want) {
			t.Errorf("%s: got %q unchanged pets, error %v, want %d", path, lines.Text(), err, want)
		}
	}
}
