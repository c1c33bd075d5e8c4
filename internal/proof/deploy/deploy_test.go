//go:build deploy

// Package deploy tests deploy/ with the programs that operators use. "make deploy-check"
// builds the service first.
package deploy

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
)

// Programs run in the top folder of the repository.
const (
	top      = "../../.."
	petstore = ".bin/petstore"
)

// TestPackage runs testdata/boot.sh, which builds the Debian package, boots systemd on a
// temporary overlay of this system, and runs walk.sh there: the commands of the pages, from
// installation to removal.
func TestPackage(t *testing.T) {
	t.Parallel()
	odd := []string{example.Body(example.Integers("-9223372036854775808")...)}
	for _, name := range []string{
		strings.Repeat("many pages ", 9), "it's", `\`, "a\n\\.\n\\q\r\n\t\x01\x1b", "🐈 :x $1 %s", "",
		example.LongText(30_000), "removed",
	} {
		odd = append(odd, example.BodyNamed(name))
	}
	run(t, "sh", "-e", "internal/proof/deploy/testdata/boot.sh", t.TempDir(), example.BodyNamed("NAME"), strings.Join(odd, "\n"))
}

// TestFiles runs testdata/files.sh, which checks the files of deploy/ and builds packages.
func TestFiles(t *testing.T) {
	t.Parallel()
	run(t, "bash", "-e", "-x", "internal/proof/deploy/testdata/files.sh", t.TempDir())
}

// TestImage runs testdata/image.sh, which builds and runs the image.
func TestImage(t *testing.T) {
	t.Parallel()
	run(t, "bash", "-e", "-x", "internal/proof/deploy/testdata/image.sh", t.TempDir(), program.FreeAddress(t))
}

// run runs a program and returns its standard output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = top
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, tail(stdout.String()), tail(stderr.String()))
	}
	return strings.TrimSpace(stdout.String())
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

// start starts a program in the background, which is killed when the test ends. stop
// sends SIGTERM and checks that the program exits with status 0.
func start(t *testing.T, name string, args ...string) (stop func()) {
	t.Helper()
	var output bytes.Buffer // read only after the program has ended
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = top, &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its workers; they may have ended
		_ = wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", cmd, tail(output.String()))
		}
	})
	return func() {
		t.Helper()
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), wait()); err != nil {
			t.Errorf("%s after SIGTERM: got %v, want exit status 0", cmd, err)
		}
	}
}

// serve starts "petstore serve" on addr.
func serve(t *testing.T, addr string, args ...string) (stop func()) {
	t.Helper()
	args = append([]string{"PETSTORE_API_KEYS=" + program.Key, petstore, "serve", "--addr", addr}, args...)
	stop = start(t, "env", args...)
	program.WaitFor(t, addr)
	return stop
}
