package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
)

// childEnv makes this test binary do one of works in a process that can be killed or given a
// failing disk, with paths as arguments. With nobodyEnv, a child of root runs as nobody.
const childEnv, nobodyEnv = "SQLITE_TEST_CHILD", "SQLITE_TEST_NOBODY"

const nobody = 65534

func TestMain(m *testing.M) {
	work, isChild := works[os.Getenv(childEnv)]
	if !isChild {
		os.Exit(m.Run())
	}
	if os.Getenv(nobodyEnv) != "" && os.Getuid() == 0 {
		_ = errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
	}
	if err := work(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child returns a command that does work, under the command in wrapper if there is one.
func child(t testing.TB, wrapper []string, work string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	args = slices.Concat(wrapper, []string{program}, args)
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Env = append(os.Environ(), childEnv+"="+work, "GORACE=atexit_sleep_ms=0")
	return c
}

// works are what a child can do. All but create only read the first argument, and print a number of notes.
var works = map[string]func(ctx context.Context, args []string) error{
	"create": createAll,
	"list": func(ctx context.Context, args []string) error {
		return schema.Read(ctx, args[0], func(conn Conn) error {
			notes, err := notesIn(conn)
			fmt.Print(len(notes))
			return err
		})
	},
	"verify": func(ctx context.Context, args []string) error { return report(schema.Verify(ctx, args[0])) },
	"backup": func(ctx context.Context, args []string) error {
		return report(schema.Backup(ctx, args[0], args[1], false))
	},
	"restore": func(ctx context.Context, args []string) error { return report(schema.Restore(ctx, args[1], args[0])) },
}

func report(r db.Report, err error) error {
	if err == nil {
		fmt.Print(r.Rows[0].Count)
	}
	return err
}

// createAll has several goroutines create as many notes each as the second argument says, and closes the
// database. With a third argument, it uses one goroutine, and exits without closing once a note is refused.
func createAll(ctx context.Context, args []string) error {
	runtime.LockOSThread() // for strace, which counts calls per thread
	d, err := schema.Open(ctx, args[0], db.Options{})
	if err != nil {
		return err
	}
	most, _ := strconv.Atoi(args[1])
	if len(args) > 2 { // "exit"
		if err := createMany(ctx, d, "alone", most); fault.KindOf(err) != fault.Unavailable {
			return fmt.Errorf("no note was refused: %w", err)
		}
		os.Exit(0)
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = createMany(ctx, d, fmt.Sprintf("%d/%d", os.Getpid(), i), most) })
	}
	wg.Wait()
	return errors.Join(append(errs, d.Close())...)
}

func createMany(ctx context.Context, d *DB, name string, most int) error {
	for n := range most {
		id, err := create(ctx, d, longText(name, n))
		if err != nil {
			return err
		}
		fmt.Println(id, n, name)
	}
	return nil
}

// longText returns the text of a note that may fill several pages.
func longText(name string, n int) string {
	return fmt.Sprint(name, "/", n, strings.Repeat("🐈", n%5*500))
}

// read adds the next notes that createAll printed, at most n, and returns their number.
func (l ledger) read(t testing.TB, lines *bufio.Scanner, n int) (read int) {
	t.Helper()
	for ; read < n && lines.Scan(); read++ {
		var id int64
		var n int
		var name string
		_, err := fmt.Sscan(lines.Text(), &id, &n, &name)
		if before, twice := l[id]; twice || err != nil {
			t.Fatalf("a line of the child: got %q, error %v, want another note than %.40q", lines.Text(), err, before)
		}
		l[id] = longText(name, n)
	}
	return read
}

// TestKill has several processes write to a new store, backs it up, and kills one after the other.
func TestKill(t *testing.T) {
	path, l := newPath(t), ledger{}
	var running []*exec.Cmd
	var lines []*bufio.Scanner
	for range 4 {
		c := child(t, nil, "create", path, "1000000")
		out, err := c.StdoutPipe()
		must(t, errors.Join(err, c.Start()))
		running, lines = append(running, c), append(lines, bufio.NewScanner(out))
	}
	for i, c := range running {
		for _, scanner := range lines[i:] {
			if n := l.read(t, scanner, 50); n < 50 {
				t.Fatalf("got %d notes and the end of the child's output, want 50", n)
			}
		}
		to := newPath(t)
		mustBackup(t, path, to)
		l.check(t, to)
		must(t, c.Process.Kill())
		l.read(t, lines[i], math.MaxInt)
		_ = c.Wait() // it was killed
		l.check(t, path)
	}
}
