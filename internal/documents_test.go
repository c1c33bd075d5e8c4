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

	markdownLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	markdownHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor     = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeBlock       = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// documents returns every page of the repository by its path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(name, ".") && name != ".github", name == "node_modules":
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md"):
			page := strings.TrimPrefix(filepath.ToSlash(path), "../")
			pages[page] = read(t, page)
		}
		return nil
	})
	if err != nil || len(pages) < 7 {
		t.Fatalf("documents: got %d (%v), want them all", len(pages), err)
	}
	return pages
}

func TestEveryMakeTargetADocumentNamesExists(t *testing.T) {
	makefile := read(t, "Makefile")
	for page, text := range documents(t) {
		for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names `make %s`: got no such target, want one", page, m[1])
			}
		}
	}
}

// TestTheWorkflowRunsEveryCheck compares the jobs of the workflow with the target
// check: a check that is added to one of them must be in the other.
func TestTheWorkflowRunsEveryCheck(t *testing.T) {
	check := regexp.MustCompile(`(?m)^check: (.*) ##`).FindStringSubmatch(read(t, "Makefile"))
	if check == nil {
		t.Fatal("Makefile: got no target check, want one with its prerequisites")
	}
	want := append(strings.Fields(check[1]), "build", "soak")
	var got []string
	for _, job := range regexp.MustCompile(`(?m)^ +targets: (.*)$`).FindAllStringSubmatch(read(t, ".github/workflows/check.yml"), -1) {
		got = append(got, strings.Fields(job[1])...)
	}
	for _, set := range []*[]string{&got, &want} {
		slices.Sort(*set)
		*set = slices.Compact(*set)
	}
	if !slices.Equal(got, want) {
		t.Errorf("targets of the workflow: got %v, want those of make check, build and soak: %v", got, want)
	}
}

// TestEveryProofADocumentNamesRunsATest holds the documents to their promises: a
// command whose -run matches nothing would pass and prove nothing.
func TestEveryProofADocumentNamesRunsATest(t *testing.T) {
	proofs := 0
	for page, text := range documents(t) {
		for _, m := range goTest.FindAllStringSubmatch(text, -1) {
			proofs++
			checkProof(t, page, m[1])
		}
	}
	if proofs < 20 {
		t.Errorf("go test commands of the documents: got %d, want those of the promises", proofs)
	}
}

func checkProof(t *testing.T, page, command string) {
	t.Helper()
	tags, rest := "", command
	if tagged, found := strings.CutPrefix(command, "-tags "); found {
		tags, rest, _ = strings.Cut(tagged, " ")
	}
	packages, pattern, _ := strings.Cut(rest, " -run ")
	run, err := regexp.Compile(strings.Trim(pattern, "'"))
	if err != nil {
		t.Fatalf("%s: `go test %s`: %v", page, command, err)
	}
	for _, p := range strings.Fields(packages) {
		if strings.HasPrefix(p, "-") || p == "." { // a benchmark's own words
			return
		}
		if !anyTest(t, p, run, append(strings.Split(tags, ","), "unix", "linux")) {
			t.Errorf("`go test %s` in %s: got no test of %s that it runs, want at least one", command, page, p)
		}
	}
}

// TestEveryLinkBetweenDocumentsLeadsSomewhere follows the links to files of the
// repository, and the links to headings.
func TestEveryLinkBetweenDocumentsLeadsSomewhere(t *testing.T) {
	pages := documents(t)
	for page, text := range pages {
		for _, m := range markdownLink.FindAllStringSubmatch(withoutCode(text), -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			path := filepath.ToSlash(filepath.Join(filepath.Dir(page), target))
			if target == "" {
				path = page
			}
			if info, err := os.Stat(filepath.Join("..", path)); err != nil {
				t.Errorf("%s: got a link to %s, which is not there", page, m[1])
			} else if info.IsDir() {
				path += "/README.md"
			}
			if other, known := pages[path]; heading != "" && (!known || !slices.Contains(headings(other), heading)) {
				t.Errorf("%s: got a link to %s, want a heading of %s", page, m[1], path)
			}
		}
	}
}

// headings returns the names by which links lead to the page's headings.
func headings(text string) []string {
	var names []string
	for _, m := range markdownHeading.FindAllStringSubmatch(withoutCode(text), -1) {
		name := strings.ToLower(strings.TrimSpace(m[1]))
		name = strings.ReplaceAll(notInAnchor.ReplaceAllString(name, ""), " ", "-")
		names = append(names, name)
	}
	return names
}

// withoutCode returns the page without its blocks of code, in which # and []
// mean something else.
func withoutCode(text string) string { return codeBlock.ReplaceAllString(text, "") }

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
