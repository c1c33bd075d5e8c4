//go:build deploy

package deploy

import (
	"strings"
	"testing"
)

// TestMakeItYours runs the commands of CONTRIBUTING.md that rename a copy, and the
// tests of the copy.
func TestMakeItYours(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, ".github", "CONTRIBUTING.md"), "## Make it yours")
	_, section, _ = strings.Cut(section, "```sh\n")
	commands, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatal("CONTRIBUTING.md: got no commands")
	}
	dir := t.TempDir()
	run(t, nil, "git", "clone", "-q", ".", dir)
	run(t, nil, "sh", "-ec", "cd "+dir+"\n"+commands+`
		git add -A
		make drift
		go vet ./...
		go test ./...
		grep -q '^apiVersion: apps/v[1]$' deploy/kubernetes/*.yaml
		git grep --cached -nIE '(^|[^a-z])/v[1]\b' ':!*-lock.json' ':!*.sum' && exit 1
		! { git ls-files; git grep --cached -I '' ':!*LICENSE*' ':!*-lock.json' ':!*.sum'; } | grep -iE 'p[e]t|p[s]k'`)
}
