//go:build deploy

// Package deploy tests deploy/ with the programs that operators use. "make deploy-check"
// builds the service first.
package deploy

import (
	"os/exec"
	"strings"
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
	cmd.Dir, cmd.Stderr = top, t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return strings.TrimSpace(string(out))
}
