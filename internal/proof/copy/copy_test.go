//go:build copy

// Package copy runs, each in a clone, the commands of .github/CONTRIBUTING.md that turn the
// repository into another service and take parts out of it. `make copy` runs it.
package copy

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// TestRename looks for the old names afterwards.
func TestRename(t *testing.T) {
	dir := clone(t)
	run(t, dir, block(t, ".github/rename.sh")+check+`make drift
		! { git ls-files; git grep --cached -I '' ':!*LICENSE*' ':!*-lock.json' ':!*.sum'; } | grep -iE 'p[e]t|p[s]k'`)
}

// TestParts takes out one part after the other, in one clone, in which Go remembers the
// results of tests that a part does not concern.
func TestParts(t *testing.T) {
	dir := clone(t)
	for _, c := range []struct{ block, check string }{
		{"git rm -rq $(git ls-files '*postgres*'", "make package\n! grep pgx go.mod"},
		{"git rm -rq $(git ls-files '*docs*'", "make package"},
		{"git rm -rq gen/client", "make drift"},
		{"git rm -rq internal/proof/bench", ""},
		{"git rm -rq internal/proof/attack", ""},
		{"git rm -rq internal/proof/contract/schemathesis", ""},
	} {
		t.Run(path.Base(c.block), func(t *testing.T) {
			run(t, dir, "git reset -q --hard\n"+block(t, c.block)+check+c.check)
		})
	}
}

// check is what must succeed afterwards. The tags are those of the Makefile but copy.
const check = `
	go mod tidy
	go vet -tags postgres,citus,chromium,faults,wrk,deploy,sdk,attack ./...
	go test ./...
	make --dry-run help check-all package >/dev/null
`

func clone(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	run(t, "../../..", "git clone -q . "+dir)
	return dir
}

// block returns the commands of CONTRIBUTING.md that begin with a text.
func block(t *testing.T, begin string) string {
	t.Helper()
	page, err := os.ReadFile("../../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, found := strings.Cut(strings.ReplaceAll(string(page), "\n   ", "\n"), "```sh\n"+begin)
	commands, _, _ = strings.Cut(commands, "```")
	if !found {
		t.Fatalf("CONTRIBUTING.md has no block that begins with %s", begin)
	}
	return begin + commands
}

// run runs commands in a folder.
func run(t *testing.T, dir, commands string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-exc", commands)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
