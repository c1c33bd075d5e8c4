//go:build deploy

package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTroubleshooting ties each row of the tables for 3 a.m. to the code: its text is
// in a string literal of the program, in one file of a package, or testdata/walk*.sh
// provoke it. The alerts that a row names exist.
func TestTroubleshooting(t *testing.T) {
	literals := literalsOf(t)
	files := run(t, nil, "sh", "-c", "cat deploy/prometheus/alerts*.yml internal/proof/deploy/testdata/walk*.sh")
	pages, err := filepath.Glob(root(t, "deploy", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("deploy: got no pages (%v)", err)
	}
	for _, page := range pages {
		page = filepath.Base(page)
		_, table, found := strings.Cut(read(t, "deploy", page), "| symptom | in the log | do |\n|---|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		rows := strings.Split(table, "\n")
		if !found || len(rows) < 5 {
			t.Fatalf("deploy/%s: got %d rows, want the table", page, len(rows))
		}
		for _, row := range rows {
			columns := strings.Split(strings.Trim(row, "|"), "|")
			names := regexp.MustCompile("`(Petstore\\w+)`").FindAllStringSubmatch(columns[0], -1)
			for _, name := range names {
				if !strings.Contains(files, "alert: "+name[1]+"\n") {
					t.Errorf("deploy/%s: there is no alert %s", page, name[1])
				}
			}
			texts := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(columns[1], -1)
			if len(texts)+len(names) == 0 {
				t.Errorf("deploy/%s: got a row with neither a text nor an alert: %s", page, row)
			}
			for _, text := range texts {
				want := text[1]
				if reason, found := strings.CutPrefix(want, `"reason":`); found {
					want = strings.Trim(reason, `"`)
				}
				part := strings.Trim(want, "…")
				if problem := literals.find(part, part != want); problem != "" && !strings.Contains(files, "grep '"+part+"'") {
					t.Errorf("deploy/%s: %q: %s", page, text[1], problem)
				}
			}
		}
	}
}

// literals maps the string literals of the program to the files that have them.
type literals map[string][]string

// literalsOf reads the string literals of the program, without its tests.
func literalsOf(t *testing.T) literals {
	t.Helper()
	all := literals{}
	for _, dir := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root(t, dir), func(path string, d fs.DirEntry, err error) error {
			switch name := d.Name(); {
			case err != nil:
				return err
			case d.IsDir() && (name == "proof" || name == "storetest" || name == "pgtest"):
				return fs.SkipDir
			case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					text, _ := strconv.Unquote(l.Value) // it was parsed
					all[text] = append(all[text], path)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// find returns "", or why text does not tell where it comes from: it must be a literal,
// or part of one.
func (l literals) find(text string, part bool) string {
	all := slices.Clone(l[text])
	for literal, paths := range l {
		if part && strings.Contains(literal, text) {
			all = append(all, paths...)
		}
	}
	files := map[string]string{} // by package
	for _, path := range all {
		if other := files[filepath.Dir(path)]; other != "" && other != path {
			return "both " + other + " and " + path + " print it"
		}
		files[filepath.Dir(path)] = path
	}
	if len(files) == 0 {
		return "nothing prints it"
	}
	return ""
}
