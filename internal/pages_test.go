package internal

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestPages checks that the files, identifiers and make targets that the pages
// name exist.
func TestPages(t *testing.T) {
	root := os.DirFS("..")
	read := func(file string) string {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	file := regexp.MustCompile(`\]\(([^:)#]+)[)#]|` + "`((?:cmd|deploy|gen|internal|\\.\\w+)/[^` ]*)`")
	identifier := regexp.MustCompile("`(\\w+)` in `([^` ]+/[^` ]+\\.go)`")
	target := regexp.MustCompile("`make ([a-z-]+)")
	for _, pattern := range []string{"*.md", ".github/*.md", "deploy/*.md", "internal/proof/bench/*.md"} {
		pages, _ := fs.Glob(root, pattern)
		for _, page := range pages {
			text := read(page)
			for _, m := range file.FindAllStringSubmatch(text, -1) {
				name := path.Clean(m[2])
				if m[1] != "" { // a link
					name = path.Join(path.Dir(page), m[1])
				}
				if found, _ := fs.Glob(root, name); len(found) == 0 {
					t.Errorf("%s: %s does not exist", page, name)
				}
			}
			for _, m := range identifier.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(read(m[2]), m[1]) {
					t.Errorf("%s: %s has no %s", page, m[2], m[1])
				}
			}
			for _, m := range target.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(read("Makefile"), "\n"+m[1]+":") {
					t.Errorf("%s: Makefile has no %s", page, m[1])
				}
			}
		}
	}
}
