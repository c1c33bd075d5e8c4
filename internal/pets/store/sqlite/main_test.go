//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Some tests need other processes, to kill or to compete with. Those are this
// test binary again, told by childEnv which part of children to play on the
// file in pathEnv.
const (
	childEnv = "PETSTORE_TEST_CHILD"
	pathEnv  = "PETSTORE_TEST_PATH"
)

var children = map[string]func(ctx context.Context, path string) error{
	"disk":    createOnAFailingDisk,
	"shell":   createBesideAShell,
	"read":    readAsAShell,
	"full":    createOnAFullDisk,
	"create":  createUntilKilled,
	"fail":    createUntilTheFileMayNotGrow,
	"compete": openOnSignal,
	"look":    lookAsNobody,
}

func TestMain(m *testing.M) {
	if play, ok := children[os.Getenv(childEnv)]; ok {
		if err := play(context.Background(), os.Getenv(pathEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is another process. What it writes to stderr is the test's output.
type child struct {
	*exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startChild(t *testing.T, part, path string) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatalf("finding the test binary: got error %v", err)
	}
	c := &child{Cmd: exec.CommandContext(t.Context(), program)}
	// The race detector's runtime waits a second at the end of a process, unless told.
	c.Env = append(os.Environ(), childEnv+"="+part, pathEnv+"="+path, "GORACE=atexit_sleep_ms=0")
	c.Stderr = t.Output()
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatalf("making a pipe: got error %v", err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatalf("making a pipe: got error %v", err)
	}
	c.lines = bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		t.Fatalf("starting a child: got error %v", err)
	}
	return c
}

// runChild plays the part to its end and returns its output; the error holds what it
// wrote to stderr.
func runChild(part, path string, env ...string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	c := exec.Command(program)
	c.Env = append(append(os.Environ(), childEnv+"="+part, pathEnv+"="+path, "GORACE=atexit_sleep_ms=0"), env...)
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("the child %s: %w: %s", part, err, exit.Stderr)
	}
	return string(out), err
}

// mustLine returns the child's next line.
func (c *child) mustLine(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("a child's output: got its end (%v, %v), want a line", c.lines.Err(), c.Wait())
	}
	return c.lines.Text()
}

func (c *child) mustEnd(t *testing.T) {
	t.Helper()
	if err := c.Wait(); err != nil {
		t.Errorf("a child: got %v, want success", err)
	}
}
