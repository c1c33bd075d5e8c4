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

// folder has the service in a folder of a larger repository.
const folder = `
	trap 'rm -rf $big' EXIT
	big=$(mktemp -d)
	git archive --prefix=petstore/ HEAD | tar -xC $big
	cd $big/petstore
	git init -q ..
	make drift
	.github/rename.sh example.com/library shelfd book bsk 2>&1 | grep 'a larger repository'
`

// beforehand adds a vendored file and a tag, and sets what a user may have set in git.
const beforehand = `
	mkdir -p vendor/pets
	echo 'package  pets' >vendor/pets/pets.go
	git add -f vendor
	git commit -qm vendor
	git tag v1.4.0
	export GOFLAGS=-mod=mod GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=diff.noprefix GIT_CONFIG_VALUE_0=true
	export GIT_CONFIG_KEY_1=color.ui GIT_CONFIG_VALUE_1=always GIT_CONFIG_KEY_2=diff.external GIT_CONFIG_VALUE_2=false
`

// afterwards checks that nothing but the vendored file has a name of the original, and makes the examples
// of the pages.
const afterwards = `
	unset GIT_CONFIG_COUNT
	grep 'package  pets' vendor/pets/pets.go
	[ -z "$(git tag)" ]
	make drift
	{ git ls-files ':!vendor'; git grep --cached -I '' ':!vendor' ':!*LICENSE*' ':!*-lock.json' ':!*.sum' \
		':!.github/rename.sh' ':!.github/update.sh'; } | grep -iE 'p[e]t|p[s]k' && exit 1
	git commit -qm renamed
	for chapter in visits tags tokens; do
		bash -x .github/guide.sh $chapter` + vet + `git reset -q --hard
		git clean -qfd
	done
`

// update changes an engine in a renamed copy and removes another, and updates it after changes of
// the same engines: first on other lines, then on the same. What it refuses comes last.
const update = `
	sed -i '1i // Ours.' internal/fault/fault.go
	git rm -rq internal/db/postgres
	git commit -qam ours
	up=$(mktemp -d)
	trap 'rm -rf $up' EXIT
	git clone -q --no-hardlinks -c user.name=up -c user.email=up . $up
	cd $up
	git checkout -q HEAD~2
	echo '// Fixed.' | tee -a internal/fault/fault.go >>internal/db/postgres/retry.go
	printf 'package edge\n\nimport _ "%s/internal/fault"\n' $(go list -m) >internal/edge/new.go
	git rm -q internal/keys/keys_test.go
	sed -i '/^### Engines/a - fault is fixed.' .github/CHANGELOG.md
	sed -i 's/^go 1.*/go 1.99.0/' go.mod
	git add -A
	git commit -qm fixed
	cd -
	(tar() { false; }; export -f tar; .github/update.sh $up) && exit 1
	[ -z "$(git status --porcelain)" ]
	.github/update.sh $up >out
	grep 'fault is fixed' out
	grep 'go get go@1.99.0 && go mod tidy' out
	grep '// Ours' internal/fault/fault.go
	grep '// Fixed' internal/fault/fault.go
	go vet ./internal/edge
	[ ! -e internal/db/postgres ] && [ ! -e internal/keys/keys_test.go ]
	git commit -qm updated
	.github/update.sh $up | grep 'nothing new'
	sed -i '1i // Theirs.' $up/internal/fault/fault.go
	git -C $up commit -qam theirs
	.github/update.sh $up >out && exit 1
	grep '^<<<<<<<' internal/fault/fault.go
	eval "$(sed -n 's/.*To give up: //p' out)"
	[ -z "$(git status --porcelain -uno)" ]
	.github/update.sh . 2>&1 | grep 'has been renamed, too'
	git init -q $up/other
	git -C $up/other -c user.name=other -c user.email=other commit -q --allow-empty -m other
	.github/update.sh $up/other 2>&1 | grep 'does not have the commit'
	sed -i 's/ book / book#;1eid>pwn# /' .github/upstream
	git commit -qam evil
	.github/update.sh $up 2>&1 | grep 'must consist of a-z'
	[ ! -e pwn ]
`

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
	test("folder", folder)
	rename := regexp.MustCompile(`(?m)^\.github/rename\.sh .*`).FindString(string(page))
	test("renamed", beforehand+rename+always+afterwards+update)
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
