package internal

import (
	"go/build/constraint"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	makeTarget = regexp.MustCompile("`make ([a-z-]+)`")
	goTest     = regexp.MustCompile("`go test ([^`]+)`")
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryMakeTargetTheREADMENamesExists(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, page := range []string{"README.md", "deploy/README.md"} {
		for _, m := range makeTarget.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names `make %s`: got no such target, want one", page, m[1])
			}
		}
	}
}

// TestEveryProofTheREADMENamesRunsATest holds the README to its promises: a
// command whose -run matches nothing would pass and prove nothing.
func TestEveryProofTheREADMENamesRunsATest(t *testing.T) {
	commands := goTest.FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(commands) == 0 {
		t.Fatal("the README names no go test command")
	}
	for _, m := range commands {
		tags, command := "", m[1]
		if rest, found := strings.CutPrefix(command, "-tags "); found {
			tags, command, _ = strings.Cut(rest, " ")
		}
		packages, pattern, _ := strings.Cut(command, " -run ")
		run, err := regexp.Compile(strings.Trim(pattern, "'"))
		if err != nil {
			t.Fatalf("`go test %s`: %v", m[1], err)
		}
		for _, p := range strings.Fields(packages) {
			if !anyTest(t, p, run, strings.Split(tags, ",")) {
				t.Errorf("`go test %s` in the README: got no test of %s that it runs, want at least one", m[1], p)
			}
		}
	}
}

// anyTest reports whether run matches a test of the packages that is built with
// these tags.
func anyTest(t *testing.T, packages string, run *regexp.Regexp, tags []string) bool {
	t.Helper()
	dir, recursive := strings.CutSuffix(packages, "/...")
	found := false
	err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if !recursive && path != filepath.Join("..", dir) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, "_test.go") {
			text := read(t, strings.TrimPrefix(path, "../"))
			first, _, _ := strings.Cut(text, "\n")
			if c, err := constraint.Parse(first); err == nil && !c.Eval(func(tag string) bool { return slices.Contains(tags, tag) }) {
				return nil
			}
			for _, f := range testFunc.FindAllStringSubmatch(text, -1) {
				found = found || run.MatchString(f[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
