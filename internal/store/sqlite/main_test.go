package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
)

// childEnv makes this test binary run one of children, with file names as
// arguments, in a process that can be killed or given a failing disk.
const childEnv = "PETSTORE_TEST_CHILD"

var children = map[string]func(ctx context.Context, names []string) error{
	"create": createAll,
	"read":   readAs,
}

func TestMain(m *testing.M) {
	if play, ok := children[os.Getenv(childEnv)]; ok {
		if err := play(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childCommand returns a command that runs the child called part, under the
// command in wrapper if there is one.
func childCommand(t testing.TB, wrapper []string, part string, names ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat(wrapper, []string{program}, names)
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Env = append(os.Environ(), childEnv+"="+part, "GORACE=atexit_sleep_ms=0")
	return c
}

// createAll creates pets from several goroutines, each until it fails or has
// created as many as the second argument says. It prints each acknowledged pet in
// one write. At the end it closes the store, as the program does. With a third argument
// it uses one goroutine, and exits as if it were killed once a pet is refused.
func createAll(ctx context.Context, names []string) error {
	runtime.LockOSThread() // for strace, which counts calls per thread
	s, err := Open(ctx, names[0], db.Options{})
	if err != nil {
		return err
	}
	most := math.MaxInt
	if len(names) > 1 {
		most, _ = strconv.Atoi(names[1])
	}
	if len(names) > 2 {
		if err := createMany(ctx, s, "alone", most); fault.KindOf(err) != fault.Unavailable {
			return fmt.Errorf("no pet was refused: %w", err)
		}
		os.Exit(0)
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = createMany(ctx, s, fmt.Sprintf("%d/%d", os.Getpid(), i), most) })
	}
	wg.Wait()
	return errors.Join(append(errs, s.Close())...)
}

func createMany(ctx context.Context, s *Store, name string, most int) error {
	for n := range most {
		p, err := s.CreatePet(ctx, longPet(name, n), pets.IdempotencyKey{})
		if err != nil {
			return err
		}
		fmt.Println(p.ID, n, name)
	}
	return nil
}

// longPet returns a pet that may fill several pages.
func longPet(name string, n int) pets.NewPet {
	p := newPet(fmt.Sprint(name, "/", n, strings.Repeat("🐈", n%5*500)))
	p.CategoryID = int64(n)
	return p
}

// ledger holds the acknowledged pets by identifier.
type ledger map[int64]pets.Pet

// read adds the next pets that createAll printed, at most n, and returns their number.
func (l ledger) read(t testing.TB, lines *bufio.Scanner, n int) (read int) {
	t.Helper()
	for ; read < n && lines.Scan(); read++ {
		var id int64
		var n int
		var name string
		if _, err := fmt.Sscan(lines.Text(), &id, &n, &name); err != nil {
			t.Fatalf("a line of the child: got %q, want three words", lines.Text())
		}
		if before, twice := l[id]; twice {
			t.Errorf("id %d: got it for %.40q and %q, want it once", id, before.Name, name)
		}
		l[id] = pets.Pet{ID: id, NewPet: longPet(name, n)}
	}
	return read
}

// check checks that the store at path holds all pets of the ledger and is not
// damaged.
func (l ledger) check(t testing.TB, path string) {
	t.Helper()
	s := open(t, path)
	stored, lost := walk(t, s), maps.Clone(l)
	maps.DeleteFunc(lost, func(id int64, p pets.Pet) bool { return reflect.DeepEqual(stored[id], p) })
	if len(lost) > 0 {
		t.Errorf("got %d of %d acknowledged pets lost or changed, want 0: %.300s", len(lost), len(l), fmt.Sprint(lost))
	}
	mustClose(t, s)
	if _, err := Verify(t.Context(), path); err != nil {
		t.Errorf("Verify: got error %v", err)
	}
}

func walk(t testing.TB, s *Store) ledger { return petsIn(t, s.readers[0]) }

func petsIn(t testing.TB, db querier) ledger {
	t.Helper()
	all := ledger{}
	for p, err := range rowsOf(t.Context(), db, scanPet, "SELECT "+idAndColumns()+" FROM pets ORDER BY id") {
		if err != nil {
			t.Fatal(err)
		}
		all[p.ID] = p
	}
	return all
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, db.Options{})
	if err != nil {
		t.Fatalf("Open(%q): got error %v", path, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "pets.db") }

func newPet(name string) pets.NewPet {
	p := example.Pet()
	p.Name = name
	return p
}

func mustCreate(t testing.TB, s pets.Store, name string) pets.Pet {
	t.Helper()
	p, err := s.CreatePet(t.Context(), newPet(name), pets.IdempotencyKey{})
	if err != nil {
		t.Fatalf("CreatePet(%.40q): got error %v", name, err)
	}
	return p
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: got error %v", err)
	}
}

func wantError(t testing.TB, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got error %v, want %q in it", what, err, want)
	}
}

// wantFiles checks that the directory of path contains exactly these files, and that
// others may not open those of this program.
func wantFiles(t testing.TB, path string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
		info, err := e.Info()
		if ours, _ := filepath.Match("pets.db*", e.Name()); ours && (err != nil || info.Mode() != 0o600) && info.Mode().Type() == 0 {
			t.Errorf("%s: got %v, error %v, want mode 600", e.Name(), info, err)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("files: got %q, error %v, want %q", got, err, want)
	}
}

// figure returns the value of a metric of the store, or 0 if there is none.
func figure(t testing.TB, s *Store, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].GetGauge().GetValue()
		}
	}
	return 0
}

// sqlOn runs SQL on a file as another tool would.
func sqlOn(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db := connect(path, url.Values{})
	_, err := db.ExecContext(t.Context(), query, args...)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
