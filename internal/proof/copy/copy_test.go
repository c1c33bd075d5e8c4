//go:build copy

// Package copy runs the commands of .github/CONTRIBUTING.md that take parts out of the
// repository and turn it into another service, and all tests then. `make copy` runs it.
package copy

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// commands begin blocks of the page, which are run in one clone, one after the other, so
// that Go remembers the results of tests that a part does not concern. check may be empty.
var commands = []struct{ begin, check string }{
	{"git rm -rq $(git ls-files '*postgres*' '*citus*')", "make package\n! grep pgx go.mod"},
	{"git rm -rq $(git ls-files '*docs*')", "make package"},
	{"git rm -rq gen/client", "make drift"},
	{"git rm -rq internal/proof/bench", ""},
	{"git rm -rq internal/proof/attack", ""},
	{"git rm -rq internal/proof/contract/schemathesis", ""},
	{".github/rename.sh", `make drift
		! { git ls-files; git grep --cached -I '' ':!*LICENSE*' ':!*-lock.json' ':!*.sum'; } | grep -iE 'p[e]t|p[s]k'`},
}

// always must succeed after each. The tags are those of the Makefile but copy.
const always = `
	go mod tidy
	go vet -tags postgres,citus,chromium,faults,wrk,deploy,sdk,attack ./...
	go test ./...
	make --dry-run help check-all package >/dev/null
`

func TestCopy(t *testing.T) {
	page, err := os.ReadFile("../../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run(t, ".", "git clone -q ../../.. "+dir)
	for _, c := range commands {
		t.Run(c.begin, func(t *testing.T) {
			_, block, found := strings.Cut(strings.ReplaceAll(string(page), "\n   ", "\n"), "```sh\n"+c.begin)
			block, _, _ = strings.Cut(block, "```")
			if !found {
				t.Fatal("CONTRIBUTING.md has no block that begins with this")
			}
			run(t, dir, "git reset -q --hard\n"+c.begin+block+always+c.check)
		})
	}
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
