//go:build postgres

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// edit is what a page asks for in a file: lines that are new, between lines that are
// there. A file of new lines alone is new.
type edit struct{ file, diff string }

var (
	fileOfEdit = regexp.MustCompile("`([\\w/.-]+\\.(?:go|yaml|sql|txtar))`")
	diffBlock  = regexp.MustCompile("(?ms)^ *```diff\n(.*?)^ *```$")
)

// edits returns the edits of a section of CONTRIBUTING.md, in their order. The file of
// each is the last that is named before it.
func edits(t *testing.T, section string) (all []edit) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, ".github/CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
	if !found {
		t.Fatalf("CONTRIBUTING.md: got no section %q, want it", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	end := 0
	for _, at := range diffBlock.FindAllStringSubmatchIndex(text, -1) {
		names := fileOfEdit.FindAllStringSubmatch(text[end:at[0]], -1)
		if len(names) == 0 {
			t.Fatalf("%s: got no name of a file before %s, want one", section, text[at[2]:at[3]])
		}
		indent := at[2] - at[0] - len("```diff\n")
		var diff strings.Builder
		for line := range strings.Lines(text[at[2]:at[3]]) {
			diff.WriteString(line[min(indent, len(line)-1):])
		}
		all = append(all, edit{names[len(names)-1][1], diff.String()})
		end = at[1]
	}
	return all
}

// apply makes the edit in the tree at dir.
func (e edit) apply(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, e.file)
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	result := string(text)
	for hunk := range strings.SplitSeq(e.diff, "@@\n") {
		var before, after strings.Builder
		for line := range strings.Lines(hunk) {
			switch sign, rest := line[0], line[1:]; sign {
			case '+':
				after.WriteString(rest)
			case '-':
				before.WriteString(rest)
			default:
				before.WriteString(strings.TrimPrefix(line, " "))
				after.WriteString(strings.TrimPrefix(line, " "))
			}
		}
		if n := strings.Count(result, before.String()); n != 1 && (before.Len() > 0 || result != "") {
			t.Fatalf("%s: got %d places for this edit, want one:\n%s", e.file, n, hunk)
		}
		result = strings.Replace(result, before.String(), after.String(), 1)
	}
	if err := os.WriteFile(path, []byte(result), 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyTree copies the module to a folder of the test's own.
func copyTree(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path) // both are relative
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == ".bin" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runIn runs a command in dir and returns its output.
func runIn(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func mustRunIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	if _, err := runIn(dir, name, args...); err != nil {
		t.Fatal(err)
	}
}

// wantNext checks that the steps of the tree at dir ask for one next step, with these
// words.
func wantNext(t *testing.T, dir string, words ...string) {
	t.Helper()
	sentences, err := next(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(sentences) != 1 {
		t.Errorf("the next step: got %q, want one with the words %q", sentences, words)
		return
	}
	for _, word := range words {
		if !strings.Contains(sentences[0], word) {
			t.Errorf("the next step: got %q, want it with the words %q", sentences[0], words)
		}
	}
}
