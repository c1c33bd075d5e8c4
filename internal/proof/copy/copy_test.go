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

// parts have the files that the first line of their block removes, and what else is checked
// then. Of a part that is gone nothing is run.
var parts = []struct{ files, check string }{
	{"'*sqlite*'", "make package\n! grep modernc go.mod"},
	{"'*postgres*' '*citus*'", "make package\n! grep pgx go.mod"},
	{"'*docs*'", "make package"},
	{"gen/client", "make drift"},
	{"internal/proof/bench", ""},
	{"internal/proof/attack", ""},
	{"internal/proof/contract/schemathesis", ""},
}

// always must succeed after a block. The tags are those of the Makefile but copy.
const always = `
	go mod tidy
	go vet -tags postgres,citus,chromium,faults,wrk,deploy,sdk,attack ./...
	go test ./...
	make --dry-run help check-all package >/dev/null
`

// TestCopy runs the blocks one after the other in one clone, so that Go remembers the results
// of tests that a part does not concern.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	run(t, ".", "git clone -q ../../.. "+dir)
	page, err := os.ReadFile(dir + "/.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	test := func(name, commands, check string) {
		t.Run(name, func(t *testing.T) { run(t, dir, "git reset -q --hard\n"+commands+check) })
	}
	block := func(begin string) string {
		_, block, found := strings.Cut(strings.ReplaceAll(string(page), "\n   ", "\n"), "```sh\n"+begin)
		block, _, _ = strings.Cut(block, "```")
		if !found {
			t.Fatalf("CONTRIBUTING.md: got no block that begins with %s", begin)
		}
		return begin + block
	}
	all := ""
	for _, p := range parts {
		commands := "if [ -n \"$(git ls-files " + p.files + ")\" ]; then\n" + block("git rm -rq "+p.files) + "fi\n"
		test(p.files, commands, always+p.check)
		all += commands
	}
	test("all parts", all, "go mod tidy\nmake lint")
	test("renamed", block(".github/rename.sh"), always+`make drift
		! { git ls-files; git grep --cached -I '' ':!*LICENSE*' ':!*-lock.json' ':!*.sum'; } | grep -iE 'p[e]t|p[s]k'`)
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
