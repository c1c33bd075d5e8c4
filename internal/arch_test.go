// Package internal holds only tests, of the imports and of the pages.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// restricted lists imports that are forbidden unless allowed permits them. An
// entry includes the packages below it. All packages of this module are
// restricted.
var restricted = []string{"net/http", "database/sql", "modernc.org", pgx, goose, echo, kin, "github.com/spf13/cobra", "testing"}

const (
	proof = "internal/proof"

	echo  = "github.com/labstack/echo"
	kin   = "github.com/getkin/kin-openapi"
	pgx   = "github.com/jackc/pgx"
	goose = "github.com/pressly/goose"
)

// allowed lists the restricted packages that each directory, and the unlisted
// directories below it, import. Test files may import anything.
var allowed = map[string][]string{
	"gen":        {},
	"gen/api":    {"net/http", echo},
	"gen/client": {"net/http"},

	"internal/pets":    {},
	"internal/keys":    {},
	"internal/service": {"internal/pets", "internal/keys", "internal/edge", "gen", "gen/api", "net/http", echo},
	"internal/edge":    {"net/http", echo, kin},
	"internal/files":   {"internal/pets"},

	"internal/store":          {"internal/pets", "internal/keys", "internal/store/memory", "internal/store/sqlite", "internal/store/postgres"},
	"internal/store/memory":   {"internal/pets", "internal/keys"},
	"internal/store/sqlite":   {"internal/pets", "internal/keys", "database/sql", "modernc.org", goose},
	"internal/store/postgres": {"internal/pets", "internal/keys", pgx, goose},

	"cmd/petstore": {
		"internal/edge", "internal/files", "internal/keys", "internal/pets", "internal/service",
		"internal/store", "internal/store/postgres", "internal/store/sqlite", "net/http", "github.com/spf13/cobra",
	},

	// These are only for tests. internal/proof may import everything.
	"internal/store/storetest":       {"internal/pets", "internal/keys", "internal/store", "internal/proof/example", "testing"},
	"internal/store/postgres/pgtest": {pgx, "testing"},
	proof:                            restricted,
	"internal/proof/example":         {"internal/pets", "gen", kin},
}

func TestImports(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(mod), "\n")
	module := strings.TrimPrefix(line, "module ") + "/"
	checked, used := map[string]bool{}, map[string][]string{} // what each entry imports
	for _, top := range []string{"cmd", "gen", "internal"} {
		err := fs.WalkDir(os.DirFS(".."), top, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			entry := entryOf(path.Dir(file))
			if checked[entry] = true; entry == "" {
				t.Errorf("%s: got a package that allowed does not list", file)
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range parsed.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				used[entry] = append(used[entry], strings.TrimPrefix(name, module))
				if why := forbidden(module, entry, name); why != "" {
					t.Errorf("%s imports %s: %s", file, name, why)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for entry := range allowed {
		if !checked[entry] {
			t.Errorf("%s: got no such package, want it removed from allowed", entry)
		}
		for _, root := range allowed[entry] {
			if entry != proof && !slices.ContainsFunc(used[entry], func(name string) bool { return below(name, []string{root}) }) {
				t.Errorf("%s: got no import of %s, want it removed from allowed", entry, root)
			}
		}
	}
}

// entryOf returns the entry of allowed for a directory, or "".
func entryOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, found := allowed[dir]; found {
			return dir
		}
	}
	return ""
}

// forbidden returns why the code of an entry may not import a package, or "".
func forbidden(module, entry, name string) string {
	own, isOwn := strings.CutPrefix(name, module)
	isStandard := !strings.Contains(strings.Split(name, "/")[0], ".")
	switch {
	case entry == proof || isOwn && own == entry:
		return ""
	case isOwn && !slices.Contains(allowed[entry], entryOf(own)), below(name, restricted) && !below(name, allowed[entry]):
		return "it may import only " + strings.Join(allowed[entry], ", ")
	case entry == "internal/pets" && !isOwn && !isStandard:
		return "it may import only the standard library"
	}
	return ""
}

func below(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return name == root || strings.HasPrefix(name, root+"/") })
}
