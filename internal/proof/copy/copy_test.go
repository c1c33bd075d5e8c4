//go:build copy

// Package copy runs .github/guide.sh and the commands of .github/COPY.md, which take parts out
// of the repository, turn it into another service and update its engines. `make copy` runs it.
package copy

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// checks must succeed after the block that removes a part, beside always. The keys are the files that
// its first line removes.
var checks = map[string]string{
	"'*sqlite*'":   "make package\n! grep modernc go.mod\nPGHOST=/nowhere make run 2>&1 | grep 'start PostgreSQL'",
	"'*postgres*'": "make package\n! grep pgx go.mod",
	"'*docs*'":     "make package",
	"gen/client":   "make drift",
}

// vet compiles all.
const vet = "\ngo vet -tags $(sed -n 's/^ALL_TAGS := //p' Makefile) ./...\n"

// always must succeed after a block.
const always = "\ngo mod tidy" + vet + "go test ./...\nmake --dry-run help check-all package >/dev/null\n"

// chapters are functions of guide.sh, with what must succeed after them. After the last, each block of
// Go in CONTRIBUTING.md is in that script.
var chapters = []struct{ name, check string }{
	{"visits", always + "go test -tags postgres -run 'TestStore|TestLeast' ./internal/store/postgres\n" +
		"bash internal/proof/copy/testdata/shapes.sh" + vet + "go test ./internal/proof/contract"},
	{"tags", always + "go test -tags postgres -run TestStore ./internal/store/postgres"},
	{"tokens", vet + "[ $(grep -c '```go' .github/CONTRIBUTING.md) = $(grep -c \"page '\" .github/guide.sh) ]"},
}

// nouns have plurals if a service may have their name, which others of ours once met.
var nouns = map[string]string{
	"item": "items", "person": "people", "test": "tests", "file": "files",
	"key": "", "status": "", "func": "", "a.b": "",
}

// TestCopy runs the blocks one after the other in one clone, so that Go remembers the results
// of tests that a part does not concern.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	run(t, ".", "git clone -q -c user.name=copy -c user.email=copy ../../.. "+dir)
	page, err := os.ReadFile(dir + "/.github/COPY.md")
	if err != nil {
		t.Fatal(err)
	}
	test := func(name, commands string) {
		t.Run(name, func(t *testing.T) { run(t, dir, "git reset -q --hard\ngit clean -qfd\n"+commands) })
	}
	for _, c := range chapters {
		test(c.name, "bash -x .github/guide.sh "+c.name+c.check)
	}
	all, parts := "", regexp.MustCompile("(?s)```sh\n(git rm -rq (.*?)\n.*?)```").FindAllStringSubmatch(string(page), -1)
	for _, m := range parts {
		commands, part := m[1], m[2]
		test(part, commands+always+checks[part])
		if part != "'*citus*'" { // goes with PostgreSQL
			all += commands
		}
	}
	if len(parts) <= len(checks) {
		t.Errorf("COPY.md: got %d blocks that remove a part, want one for each of checks, and more", len(parts))
	}
	test("all parts", all+"go mod tidy\nmake lint")
	for noun, plural := range nouns {
		rename := ".github/rename.sh example.com/my/petstore " + noun + "d " + noun + " xsk " + plural
		if plural == "" {
			test(noun, rename+" && exit 1\n[ -z \"$(git status --porcelain)\" ]")
		} else {
			test(noun, rename+"\ngo test ./gen/... ./internal/"+plural+" ./internal/service ./internal/proof/contract")
		}
	}
	test("renamed", "bash -ex internal/proof/copy/testdata/renamed.sh")
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
