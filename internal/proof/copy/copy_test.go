//go:build copy

// Package copy runs the commands of .github/COPY.md, which make another service, update its library
// and take parts out of the repository. `make copy` runs it.
package copy

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/internal/example"
)

// always must succeed after a part is removed, and in a copy.
const always = `
go mod tidy
go vet -tags $(sed -n 's/^ALL_TAGS := //p' Makefile) ./...
make --dry-run help check-all package >/dev/null
go test `

// checks must also succeed after the block whose first line removes the key.
var checks = map[string]string{
	"'*sqlite*' ':!engine'":   "make package\n[ -z \"$(go list -deps ./cmd/petstore | grep modernc)\" ]\nPGHOST=/nowhere make run 2>&1 | grep 'start PostgreSQL'",
	"'*postgres*' ':!engine'": "make package\n[ -z \"$(go list -deps ./cmd/petstore | grep pgx)\" ]",
	"internal/proof/browser":  "make package\n[ -z \"$(go list -deps ./cmd/petstore | grep engine/docs)\" ]",
	"gen/client":              "make drift",
}

// TestParts runs the blocks one after the other in one clone, so that Go caches tests that a part leaves alone.
func TestParts(t *testing.T) {
	t.Parallel()
	dir := clone(t)
	test := func(name, commands string) {
		t.Run(name, func(t *testing.T) { run(t, dir, "git reset -q --hard\ngit clean -qfd\n"+commands) })
	}
	all, parts := "", regexp.MustCompile("(?s)```sh\n(git rm -rq (.*?)\n.*?)```").FindAllStringSubmatch(page(dir), -1)
	for _, m := range parts {
		commands, part := m[1], m[2]
		test(part, commands+always+"./cmd/... ./gen/... ./internal/...\n"+checks[part])
		if part != "'*citus*' ':!engine'" { // goes with PostgreSQL
			all += commands
		}
	}
	assert.Greater(t, len(parts), len(checks), "COPY.md: blocks that remove a part")
	test("all", all+"go mod tidy\nmake lint")
}

// TestCopy makes a copy with the command of the page, by a user with settings of git, and updates it.
func TestCopy(t *testing.T) {
	t.Parallel()
	dir := clone(t)
	run(t, dir, "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=commit.gpgSign GIT_CONFIG_VALUE_0=true\n"+
		regexp.MustCompile(`(?m)^\.github/copy\.sh .*`).FindString(page(dir)))
	run(t, dir+"/../library", `
[ -z "$(git status --porcelain)" ]
git log -1 --format=%s | grep "$(git -C ../clone rev-parse HEAD)"
{ git ls-files ':!engine'; git grep --cached -I '' ':!engine' ':!*LICENSE*' ':!*-lock.json' ':!*.sum'; } | grep -iE 'pet|psk' && exit 1
diff -r ../clone/engine engine | grep '^[<>]' | grep -v example.com && exit 1
`+always+"./...\nmake lint drift package")

	run(t, dir+"/../library", `
.github/update.sh ../clone
[ -z "$(git status --porcelain)" ]
cd ../clone
echo '// Fixed.' >>engine/fault/fault.go
git rm -q engine/keys/keys_test.go
sed -i '/^### Library/a - fault is fixed.' .github/CHANGELOG.md
cd -
.github/update.sh ../clone 2>&1 | grep 'Commit or undo the changes'
git -C ../clone commit -qam fixed
.github/update.sh ../clone >out
grep 'fault is fixed' out
[ "$(grep -c '^- ' out)" = 1 ]
grep '// Fixed' engine/fault/fault.go
[ ! -e engine/keys/keys_test.go ]
git commit -qm updated
go vet ./...

echo '// Ours.' >>engine/fault/fault.go
.github/update.sh ../clone 2>&1 | grep 'Commit or undo your changes'
git commit -qam ours
.github/update.sh ../clone >out 2>&1 && exit 1
grep 'has changes of your own' out
eval "$(grep '^git diff' out)" | grep '^+// Ours'
.github/update.sh . 2>&1 | grep 'is not the repository'
[ -z "$(git status --porcelain -uno)" ]
`)
}

// TestWords gives words that are wrong, and plurals that were once a problem. An archive is as good as a clone.
func TestWords(t *testing.T) {
	t.Parallel()
	dir := clone(t)
	run(t, dir, "mkdir ../archive\ngit archive HEAD | tar -xC ../archive\nmkdir ../archive/.bin ../exists")
	for args, want := range map[string]string{
		"../exists example.com/x shelfd book bsk":     "exists already",
		"inside example.com/x shelfd book bsk":        "inside the clone",
		"../no/folder example.com/x shelfd book bsk":  "does not exist",
		"../new Example shelfd book bsk":              "is not a module path",
		"../new example.com/x shelfd book 'b;id'":     "must consist of a-z",
		"../new example.com/x shelfd sheep bsk sheep": "must differ",
		"../new example.com/x shelfd func bsk":        "keyword",
		"../new example.com/x shelfd string bsk":      "predeclared",
		"../new example.com/x shelfd key bsk":         "name of a package",
		"../new example.com/x order book bsk":         "word of SQL",
		"../new example.com/x shelfd status bsk":      "the service fails as above",
	} {
		t.Run(args, func(t *testing.T) {
			run(t, dir, ".github/copy.sh "+args+` >../out 2>&1 && exit 1
grep '`+want+`' ../out
[ ! -e ../new ] && [ -z "$(git status --porcelain)" ]`)
		})
	}
	run(t, dir+"/../archive", `.github/copy.sh ../people example.com/my/petstore peopled person x people
cd ../people
go test ./internal ./internal/people`)
	run(t, dir, "mkdir ../bin\nln -s /bin/false ../bin/sed\nPATH=$PWD/../bin:$PATH .github/copy.sh ../new x y z w 2>&1 | grep 'needs GNU sed'")
}

// clone returns the folder of a clone, beside which a test may write.
func clone(t *testing.T) string {
	dir := t.TempDir() + "/clone"
	run(t, ".", "git clone -q -c user.name=copy -c user.email=copy ../../.. "+dir)
	return dir
}

func page(dir string) string { return string(example.Must(os.ReadFile(dir + "/.github/COPY.md"))) }

// run runs commands in a folder.
func run(t *testing.T, dir, commands string) {
	cmd := exec.CommandContext(t.Context(), "bash", "-exc", commands)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
