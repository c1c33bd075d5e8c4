//go:build thirdparty

package sdk_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/sdk"
)

// block is a fenced block of a Markdown text.
type block struct{ language, text string }

var fenced = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

func blocks(markdown string) (all []block) {
	for _, m := range fenced.FindAllStringSubmatch(markdown, -1) {
		all = append(all, block{m[1], m[2]})
	}
	return all
}

// section returns what stands below a heading, up to the next of its rank or a
// higher one. A single # is a comment in code.
func section(t *testing.T, markdown, heading string) string {
	t.Helper()
	_, below, found := strings.Cut(markdown, "\n"+heading+"\n")
	if !found {
		t.Fatalf("internal/proof/sdk/README.md: got no heading %q, want one", heading)
	}
	rank, _, _ := strings.Cut(heading, " ")
	if end := regexp.MustCompile(`(?m)^#{2,` + string(rune('0'+len(rank))) + `} `).FindStringIndex(below); end != nil {
		below = below[:end[0]]
	}
	return below
}

// replaced replaces a text that must be there.
func replaced(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("got %q, want %q in it", text, old)
	}
	return strings.ReplaceAll(text, old, by)
}

// TestTheQuickStartsOfTheREADMERun follows that page as a reader does. It starts the
// server, sets the variables, saves the code under the name in its first line and
// runs the commands in that folder. Only the port, and the places of the clone and
// the program, are the test's.
func TestTheQuickStartsOfTheREADMERun(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	clients := section(t, string(readme), "## Quick starts")
	first, _, _ := strings.Cut(clients, "\n### ")
	setup := blocks(first)
	if len(setup) != 2 || setup[0].language != "sh" || setup[1].language != "sh" {
		t.Fatalf("before the languages: got blocks %v, want one that serves and one that sets variables", setup)
	}
	line := replaced(t, strings.TrimSpace(setup[0].text), ".bin/petstore", build(t))
	for _, l := range sdk.Languages() {
		t.Run(l.Name, func(t *testing.T) {
			own := blocks(section(t, clients, "### "+l.Title))
			if len(own) != 2 || own[0].language != l.Fence || own[1].language != "sh" {
				t.Fatalf("got blocks %v, want one of %s and one of sh", own, l.Fence)
			}
			dir := t.TempDir()
			_, name, _ := strings.Cut(strings.SplitN(own[0].text, "\n", 2)[0], " ") // behind // or #
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(own[0].text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := serve(t, line)
			variables := replaced(t, setup[1].text, "http://127.0.0.1:8080/v1", s.base)
			variables = replaced(t, variables, "$HOME/petstore", root(t))
			cache := filepath.Join(root(t), ".bin/sdk/cache")
			out := shell(t, long, dir, variables+own[1].text, "npm_config_cache="+cache+"/npm", "npm_config_prefer_offline=true", "PIP_CACHE_DIR="+cache+"/pip")
			if want := "1 Frank available\n"; !strings.HasSuffix("\n"+out, "\n"+want) {
				t.Errorf("got %q, want %q at its end", out, want)
			}
		})
	}
}
