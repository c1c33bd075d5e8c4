// Package internal holds only tests, of the imports and of the pages.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// importers lists for packages, each with those below it, the directories whose code may
// import them. Tests and internal/proof may import anything.
var importers = map[string][]string{
	"github.com/getkin/kin-openapi": {"internal/edge"},
	"github.com/labstack/echo":      {"gen/api", "internal/edge", "internal/service"},
	"github.com/spf13/cobra":        {"cmd/petstore"},
	"net/http":                      {"gen/api", "gen/client", "cmd/petstore", "internal/edge", "internal/server", "internal/service"},
	"testing":                       {"internal/store/storetest", "internal/store/postgres/pgtest"},

	"database/sql":             {"internal/store/sqlite"},
	"modernc.org":              {"internal/store/sqlite"},
	"github.com/jackc/pgx":     {"internal/store/postgres", "internal/store/postgres/pgtest"},
	"github.com/pressly/goose": {"internal/store/sqlite", "internal/store/postgres"},

	"gen":                     {"internal/service"},
	"internal/edge":           {"cmd/petstore", "internal/service"},
	"internal/keys":           {"cmd/petstore", "internal/service", "internal/store", "internal/store/memory", "internal/store/sqlite", "internal/store/postgres", "internal/store/storetest"},
	"internal/pets":           {"cmd/petstore", "internal/service", "internal/store", "internal/store/memory", "internal/store/sqlite", "internal/store/postgres", "internal/store/storetest"},
	"internal/server":         {"cmd/petstore"},
	"internal/service":        {"cmd/petstore"},
	"internal/store":          {"cmd/petstore", "internal/store/address", "internal/store/memory", "internal/store/sqlite", "internal/store/postgres", "internal/store/storetest"},
	"internal/store/address":  {"cmd/petstore"},
	"internal/store/memory":   {"internal/store/address"},
	"internal/store/sqlite":   {"cmd/petstore", "internal/store/address"},
	"internal/store/postgres": {"cmd/petstore", "internal/store/address"},
	"internal/proof":          {"internal/store/storetest"},
}

func TestImports(t *testing.T) {
	info, _ := debug.ReadBuildInfo()
	files := 0
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if file == "internal/proof" || d.IsDir() && len(file) > 1 && file[0] == '.' {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || file == "tools.go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		for _, spec := range parsed.Imports {
			name := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), info.Main.Path+"/")
			if !isAllowed(path.Dir(file), name) {
				t.Errorf("%s imports %s: importers does not list it", file, name)
			}
		}
		return nil
	})
	if err != nil || files < 50 || isAllowed("internal/pets", "net/http") || isAllowed("internal/pets", "github.com/x/y") || isAllowed("internal/store/sqlite", "internal/store/memory") {
		t.Errorf("got error %v, %d files, want more, and imports that are not allowed", err, files)
	}
}

// isAllowed reports whether code in a directory may import a package.
func isAllowed(dir, name string) bool {
	if dir == "internal/pets" && strings.Contains(strings.Split(name, "/")[0], ".") {
		return false // the domain imports only the standard library
	}
	for restricted, dirs := range importers {
		if below(name, restricted) && !below(dir, restricted) && !slices.Contains(dirs, dir) {
			return false
		}
	}
	return true
}

func below(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }
