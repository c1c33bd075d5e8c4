//go:build deploy

package deploy

import (
	"os"
	"strings"
	"testing"
)

// TestMakeItYours runs the commands of CONTRIBUTING.md that turn a clone into another
// service, and its tests, with PostgreSQL and without.
func TestMakeItYours(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, "git", "clone", "-q", ".", dir)
	// block runs a block of commands, as the clone's page has it, and then more.
	block := func(n int, more string) {
		t.Helper()
		page, err := os.ReadFile(dir + "/.github/CONTRIBUTING.md")
		if err != nil {
			t.Fatal(err)
		}
		_, chapter, _ := strings.Cut(string(page), "## Make it yours")
		parts := strings.Split(chapter, "```")
		run(t, "bash", "-ec", "cd "+dir+"\n"+strings.TrimPrefix(parts[2*n+1], "sh\n")+more)
	}
	block(0, `
		make drift
		go vet ./...
		go test ./...
		! { git ls-files; git grep --cached -I '' ':!*LICENSE*' ':!*-lock.json' ':!*.sum'; } | grep -iE 'p[e]t|p[s]k'`)
	block(1, `! git grep -nE "wrk|bench" Makefile .ci .github/workflows deploy`)
	// TestPages names the links to what is gone, which are changed by hand.
	block(2, `
		go vet ./...
		go vet -tags deploy ./internal/proof/deploy
		go mod tidy -diff
		go test -skip TestPages ./...`)
}
