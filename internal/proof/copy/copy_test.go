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

const vet = "go vet -tags postgres,citus,chromium,faults,wrk,deploy,sdk,attack ./...\n"

func TestCopy(t *testing.T) {
	for _, c := range []struct{ block, check string }{
		{".github/rename.sh", `make drift
			go test ./...
			! { git ls-files; git grep --cached -I '' ':!*LICENSE*' ':!*-lock.json' ':!*.sum'; } | grep -iE 'p[e]t|p[s]k'`},
		{"git rm -rq internal/db/postgres", `go test ./...
			! git grep -n jackc go.mod
			python3 -m json.tool deploy/prometheus/dashboard.json >/dev/null`},
		{"git rm -rq internal/docs", "go test ./internal ./internal/edge ./internal/service ./internal/proof/contract ./cmd/..."},
		{"git rm -rq gen/client", "make drift\ngo test ./internal ./gen/..."},
		{"git rm -rq internal/proof/bench", "go test ./internal"},
		{"git rm -rq internal/proof/attack", "go test ./internal"},
		{"git rm -rq internal/proof/contract/schemathesis", "go test ./internal"},
	} {
		t.Run(path.Base(c.block), func(t *testing.T) {
			dir := t.TempDir()
			run(t, "git", "clone", "-q", "../../..", dir)
			page, err := os.ReadFile(dir + "/.github/CONTRIBUTING.md")
			if err != nil {
				t.Fatal(err)
			}
			_, commands, found := strings.Cut(strings.ReplaceAll(string(page), "\n   ", "\n"), "```sh\n"+c.block)
			commands, _, _ = strings.Cut(c.block+commands, "```")
			if !found {
				t.Fatalf("CONTRIBUTING.md has no block that begins with %s", c.block)
			}
			run(t, "bash", "-exc", "cd "+dir+"\n"+commands+"\ngo mod tidy\nmake help\n"+vet+c.check)
		})
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
