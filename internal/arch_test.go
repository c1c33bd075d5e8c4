// Package internal has only tests of the repository's imports and pages.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/petstore/internal/example"
)

var root = os.DirFS("..")

// matching returns the text of the files whose paths match a pattern, by their paths.
func matching(pattern string) map[string]string {
	texts, isWanted := map[string]string{}, regexp.MustCompile(pattern).MatchString
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && len(file) > 1 && file[0] == '.' && file != ".github" {
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() && isWanted(file) {
			texts[file] = string(example.Must(fs.ReadFile(root, file)))
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return texts
}

// text returns the text of one file, or of none.
func text(file string) string { return matching("^" + regexp.QuoteMeta(file) + "$")[file] }

// product returns the text of the Go files of the program, without what only tests use, by their paths.
func product() map[string]string {
	all, isTest := matching(`\.go$`), regexp.MustCompile(`_test\.go$|tools\.go$|^internal/(proof|example)/|^engine/(contract|example)/|test/[^/]*$`)
	maps.DeleteFunc(all, func(file, _ string) bool { return isTest.MatchString(file) })
	return all
}

// importers lists, for a package, which directories may import it, all with what is below. Tests may import anything.
var importers = map[string][]string{
	"github.com/getkin/kin-openapi": {"engine/edge"},
	"github.com/labstack/echo":      {"gen/api", "engine/edge", "internal/service"},
	"github.com/spf13/cobra":        {"cmd"},
	"net/http":                      {"cmd", "gen", "engine/edge", "engine/server"},

	"database/sql":             {"engine/db/sqlite", "internal/store/sqlite"},
	"modernc.org":              {"engine/db/sqlite"},
	"github.com/jackc/pgx":     {"engine/db/postgres", "internal/store/postgres"},
	"github.com/pressly/goose": {"engine/db/postgres", "engine/db/sqlite"},

	// About pets.
	"gen":                     {"internal/service"},
	"internal/pets":           {"cmd", "internal/service", "internal/store"},
	"internal/service":        {"cmd"},
	"internal/store":          {"cmd"},
	"internal/store/memory":   {"internal/store/address"},
	"internal/store/sqlite":   {"cmd/petstore/sqlite.go", "internal/store/address"},
	"internal/store/postgres": {"internal/store/address"},

	// The library.
	"engine/db":          {"cmd", "internal/store"},
	"engine/db/sqlite":   {"internal/store/sqlite"},
	"engine/db/postgres": {"internal/store/postgres"},
	"engine/docs":        {"internal/service"},
	"engine/edge":        {"cmd", "engine/docs", "internal/service"},
	"engine/keys":        {"cmd", "internal/service", "internal/store"},
	"engine/server":      {"cmd"},

	// Only for tests.
	"engine/contract":  {},
	"internal/example": {},
	"internal/proof":   {},
}

func exists(pattern string) bool { return len(example.Must(fs.Glob(root, path.Clean(pattern)))) > 0 }

// TestImports checks importers. The library in engine/ imports nothing of the service, not even in its
// tests, and has no word about pets but the path of the module.
func TestImports(t *testing.T) {
	module := regexp.MustCompile(`module (\S+)`).FindStringSubmatch(text("go.mod"))[1]
	// In a copy, the library keeps its words, among which may be those for pets and their keys there.
	word := regexp.MustCompile(`(?i)\bp[e]t(s|store)?\b|\bp[s]k|"` + module + `/(cmd|gen|internal)\b`)
	library := matching(`^engine/.*[^z]$`) // no compressed file
	for file, text := range library {
		if strings.HasSuffix(file, "/go.mod") { // of the example, which names the module
			text = strings.ReplaceAll(text, module, "")
		}
		found := word.FindString(strings.ReplaceAll(text, module+"/engine", ""))
		assert.Empty(t, found, "%s: about pets, in the library", file)
	}
	assert.NotEmpty(t, library, "files of the library")
	for file, text := range product() {
		parsed := example.Must(parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly))
		for _, spec := range parsed.Imports {
			name := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			isStandard := !strings.Contains(strings.Split(name, "/")[0], ".")
			mayImport := isStandard || !below(file, "internal/pets")
			assert.True(t, mayImport, "%s imports %s: the domain imports only the standard library", file, name)
			for restricted, dirs := range importers {
				mayImport := slices.ContainsFunc(dirs, func(dir string) bool { return below(file, dir) }) ||
					below(file, restricted) || !below(name, restricted)
				assert.True(t, mayImport, "%s imports %s: importers does not list it", file, name)
			}
		}
	}
}

func below(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }

// TestProperties checks that few tests know the properties of a pet.
func TestProperties(t *testing.T) {
	_, page, _ := strings.Cut(text(".github/COPY.md"), "\n## Replace the resource\n")
	page, _, _ = strings.Cut(page, "\n## ")
	property := regexp.MustCompile(`(?i)category_?id|pets\.(Sold|Status)`)
	for file, text := range matching(`_test\.go$|/testdata/|^internal/(example|proof|store/storetest)/.*\.(go|sh)$`) {
		found := property.FindString(text)
		ok := found == "" || strings.Contains(page, "`"+file+"`")
		assert.True(t, ok, "%s: got %q, want no property of a pet in a test that COPY.md does not name", file, found)
	}
}
