// Package internal holds only tests, of the imports and of the pages.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"runtime/debug"
	"slices"
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
	info, _ := debug.ReadBuildInfo()
	module := info.Main.Path + "/"
	files := 0
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
			parsed, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			files++
			for _, spec := range parsed.Imports {
				if name := strings.Trim(spec.Path.Value, `"`); !isAllowed(entryOf(path.Dir(file)), name, module) {
					t.Errorf("%s imports %s: allowed does not list it", file, name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < len(allowed) || isAllowed("internal/pets", "net/http", module) || isAllowed("internal/files", module+"internal/edge", module) {
		t.Errorf("got %d files, want more, and imports that are not allowed", files)
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

// isAllowed reports whether the code of an entry may import a package.
func isAllowed(entry, name, module string) bool {
	own, isOwn := strings.CutPrefix(name, module)
	isStandard := !strings.Contains(strings.Split(name, "/")[0], ".")
	switch {
	case entry == proof, isOwn && own == entry:
		return true
	case isOwn:
		return slices.Contains(allowed[entry], entryOf(own))
	case below(name, restricted):
		return below(name, allowed[entry])
	}
	return entry != "internal/pets" || isStandard
}

func below(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return name == root || strings.HasPrefix(name, root+"/") })
}
