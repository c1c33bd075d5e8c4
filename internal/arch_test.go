// Package internal holds the program. Its test says who may import whom.
package internal

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "example.com/petstore"

// pkg is a package as `go list` has it, without its tests.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// name returns the package's path in this module.
func (p pkg) name() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// packages returns every package of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 8 {
		t.Fatalf("packages: got %d, want the whole module", len(all))
	}
	return all
}

// below reports whether importPath is one of roots or below one.
func below(importPath string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return importPath == root || strings.HasPrefix(importPath, root+"/")
	})
}

// testPackages are for tests alone.
var testPackages = []string{"internal/pets/store/storetest", "internal/pets/store/postgres/pgtest", "internal/proof"}

// inModule returns the import paths of packages of this module.
func inModule(names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, module+"/"+name)
	}
	return paths
}

// onlyIn lists imports that only a part of the program may have. Beside the program
// stand internal/check, which judges any server from outside, and internal/proof,
// which tests and measures the program and which nobody imports.
var onlyIn = []struct {
	imports []string
	in      []string
}{
	{[]string{"github.com/oapi-codegen/runtime"}, []string{"gen", "internal/edge", "internal/proof"}},
	{[]string{"github.com/labstack/echo", "github.com/getkin/kin-openapi"}, []string{"gen/api", "internal/edge", "internal/proof"}},
	{[]string{"database/sql", "modernc.org", "github.com/jackc/pgx", "github.com/pressly/goose"}, []string{"internal/pets/store", "internal/proof"}},
	{[]string{"github.com/spf13/cobra", "flag"}, []string{"cmd", "internal/proof"}},
	{[]string{"github.com/spf13/pflag", "golang.org/x/term", "os/signal"}, []string{"cmd", "internal/edge", "internal/proof"}},
	{[]string{"testing", "net/http/httptest", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "github.com/rogpeppe/go-internal"}, testPackages},
	{[]string{"net/http"}, []string{"cmd", "gen", "internal/edge", "internal/pets/service", "internal/check", "internal/proof"}},
	{[]string{module + "/gen", module + "/internal/pets"}, []string{"cmd", "gen", "internal/pets", "internal/check", "internal/proof"}},
	{[]string{module + "/internal/check"}, []string{"cmd"}},
	{[]string{module + "/internal/proof"}, []string{"internal/proof"}},
	{inModule(testPackages), testPackages},
	// The client is for other programs: the service never calls itself.
	{[]string{module + "/gen/client", module + "/internal/proof/sdk"}, []string{"internal/proof"}},
	{[]string{module + "/internal/pets/store/memory", module + "/internal/pets/store/sqlite", module + "/internal/pets/store/postgres"}, []string{"internal/pets/store", "internal/proof"}},
}

func TestWhatOnlyAPartOfTheProgramMayKnowIsImportedNowhereElse(t *testing.T) {
	for _, p := range packages(t) {
		for _, rule := range onlyIn {
			for _, i := range p.Imports {
				if below(i, rule.imports...) && !below(p.name(), rule.in...) {
					t.Errorf("%s: got an import of %s, want it only below %v", p.ImportPath, i, rule.in)
				}
			}
		}
	}
}

func TestNothingOfTheEdgeNamesTheServiceInFrontOfIt(t *testing.T) {
	named := regexp.MustCompile(`(?i)\bpets?\b|getPet|animal|petstore`)
	ours := strings.NewReplacer(module, "", "$HOME/petstore", "", "$PETSTORE", "", "PETSTORE=", "", "cmd/petstore", "") // the module, and where it is cloned
	err := filepath.WalkDir("edge", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml", ".js", ".html", ".css"}, filepath.Ext(file)) {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if word := named.FindString(ours.Replace(string(text))); word != "" {
			t.Errorf("internal/%s: got %q, want the edge to know no service", file, word)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// mayImport lists all that these packages import beside the standard library.
var mayImport = map[string][]string{
	"gen/client":                    {"github.com/oapi-codegen/runtime"},
	"internal/proof/sdk":            {},
	"internal/proof/sdk/go":         {"gen/client"},
	"internal/proof/sdk/stories":    {"internal/proof/sdk"},
	"internal/pets":                 {},
	"internal/reason":               {},
	"internal/check":                {}, // it judges from outside
	"internal/edge/logging":         {},
	"internal/pets/keys":            {"internal/pets", "internal/edge/metrics", "github.com/prometheus/client_golang/prometheus", "golang.org/x/sync/singleflight"},
	"internal/edge/metrics":         {"github.com/prometheus/client_golang/prometheus"},
	"internal/edge/program":         {"internal/edge/logging", "internal/edge/metrics", "internal/edge/nearest", "internal/edge/server", "github.com/KimMachineGun/automemlimit/memlimit", "github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_golang/prometheus/collectors", "github.com/prometheus/client_golang/prometheus/promhttp", "github.com/spf13/pflag"}, // it runs any handler
	"internal/edge/limit":           {"golang.org/x/time/rate"},
	"internal/edge/server":          {"internal/reason", "golang.org/x/sys/unix", "golang.org/x/time/rate"}, // it knows nothing of the operations it serves
	"internal/pets/service":         {"gen/api", "internal/pets", "github.com/go-json-experiment/json/jsontext"},
	"internal/pets/files":           {"internal/pets", "internal/reason", "github.com/go-json-experiment/json/jsontext"},
	"internal/pets/animals":         {"internal/pets", "internal/pets/files"},
	"internal/edge/schema":          {"github.com/getkin/kin-openapi/openapi3"},
	"internal/edge":                 {"internal/edge/limit", "internal/edge/nearest", "internal/edge/program", "internal/edge/server", "github.com/spf13/pflag", "golang.org/x/term", "internal/edge/docs", "internal/edge/metrics", "internal/edge/schema", "github.com/prometheus/client_golang/prometheus", "github.com/getkin/kin-openapi/openapi3", "github.com/go-json-experiment/json/jsontext", "github.com/labstack/echo/v4", "github.com/oapi-codegen/runtime"},
	"internal/proof/petstoretest":   {"gen/api", "internal/edge", "internal/pets", "internal/pets/keys", "internal/pets/web"},
	"internal/edge/docs":            {"go.yaml.in/yaml/v3"},
	"internal/edge/example":         {"internal/edge", "internal/edge/example/api"}, // the face alone
	"internal/pets/web":             {"gen", "gen/api", "internal/edge", "internal/pets", "internal/pets/files", "internal/pets/keys", "internal/pets/service"},
	"internal/pets/store":           {"internal/pets", "internal/edge/metrics", "github.com/prometheus/client_golang/prometheus", "internal/pets/store/memory", "internal/pets/store/sqlite", "internal/pets/store/sqlite/dbfile", "internal/pets/store/sqlite/upkeep", "internal/pets/store/postgres"},
	"internal/pets/store/memory":    {"internal/pets"},
	"internal/pets/store/sqlite":    {"internal/pets", "internal/pets/store/sqlite/dbfile", "github.com/gofrs/flock", "modernc.org/sqlite/lib"},
	"internal/pets/store/postgres":  {"internal/pets", "internal/pets/store/postgres/primary", "internal/pets/store/schema", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgtype", "github.com/jackc/pgx/v5/stdlib", "github.com/pressly/goose/v3", "github.com/sethvargo/go-retry"},
	"internal/pets/store/schema":    {"github.com/pressly/goose/v3"},
	"internal/pets/wholefile":       {"internal/reason", "github.com/gofrs/flock"},
	"internal/pets/store/storetest": {"internal/pets", "github.com/anishathalye/porcupine", "pgregory.net/rapid"},

	// The store that serves and the tools that look after its file share the file alone.
	"internal/pets/store/sqlite/dbfile": {"internal/pets/store/schema", "internal/reason", "github.com/gofrs/flock", "golang.org/x/sys/unix", "github.com/pressly/goose/v3", "modernc.org/sqlite", "modernc.org/sqlite/lib"},
	"internal/pets/store/sqlite/upkeep": {"internal/pets", "internal/pets/wholefile", "internal/reason", "internal/pets/store/sqlite/dbfile"},

	// It runs statements, and knows nothing of pets.
	"internal/pets/store/postgres/primary": {"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgxpool", "github.com/sethvargo/go-retry"},

	"internal/proof/contract":          {"github.com/getkin/kin-openapi/openapi3"},
	"internal/proof/contract/breaking": {"internal/proof/contract", "github.com/getkin/kin-openapi/openapi3"},
}

func TestEveryPackageImportsWhatItMayAndNothingMore(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		allowed, ruled := mayImport[p.name()]
		if !ruled {
			continue
		}
		seen++
		for _, i := range p.Imports {
			first, _, _ := strings.Cut(i, "/")
			standard := !strings.Contains(first, ".")
			if !standard && !slices.Contains(allowed, strings.TrimPrefix(i, module+"/")) {
				t.Errorf("%s: got an import of %s, want only the standard library and %v", p.ImportPath, i, allowed)
			}
		}
	}
	if seen != len(mayImport) {
		t.Errorf("packages with a rule: got %d, want %d: a rule names a package that is gone", seen, len(mayImport))
	}
}

func TestOnlyEncodeGoNamesHTTPAndItsEncodingInTheService(t *testing.T) {
	for _, p := range packages(t) {
		if p.name() != "internal/pets/service" {
			continue
		}
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(path.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{`"net/http"`, `"github.com/go-json-experiment`} {
				if strings.Contains(string(text), name) && file != "encode.go" {
					t.Errorf("internal/pets/service/%s: got an import of %s, want it only in encode.go", file, name)
				}
			}
		}
	}
}

func TestGeneratedCodeStandsAlone(t *testing.T) {
	for dir, only := range map[string][]string{
		"../gen":        {"api", "client", "generate.go"},
		"../gen/api":    {"openapi.yaml"},
		"../gen/client": {"all.go", "response.go", "key.go", "link.go", "strict.go", "testdata"}, // by hand; see gen/generate.go
	} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if slices.Contains(only, e.Name()) || strings.HasSuffix(e.Name(), ".cfg.yaml") || strings.HasSuffix(e.Name(), ".gen.go") {
				continue
			}
			if dir == "../gen/client" && strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			t.Errorf("%s: got %s, want only what `make generate` writes", dir, e.Name())
		}
	}
	for _, p := range packages(t) {
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(path.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			generated := strings.Contains(string(text), "// Code generated ") && strings.Contains(string(text[:min(500, len(text))]), "DO NOT EDIT.")
			if generated != strings.HasSuffix(file, ".gen.go") {
				t.Errorf("%s/%s: got generated %t, want that exactly of files that end in .gen.go", p.ImportPath, file, generated)
			}
		}
	}
}

func TestNoMethodIsHungOnAGeneratedType(t *testing.T) {
	files, err := filepath.Glob("../gen/*/*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("files of gen: got %v (%v), want them all", files, err)
	}
	method := regexp.MustCompile(`(?m)^func \(\w+ \*?(\w+)`)
	for _, file := range files {
		text := read(t, file[len("../"):])
		for _, m := range method.FindAllStringSubmatch(text, -1) {
			if !strings.HasSuffix(file, ".gen.go") && !strings.Contains(text, "\ntype "+m[1]+" ") {
				t.Errorf("%s: got a method of %s, want methods only of types of the same file", file, m[1])
			}
		}
	}
}

func TestTheTopLevelHoldsWhatTheHouseHasAndNothingElse(t *testing.T) {
	allowed := []string{"openapi.yaml", "gen", "internal", "cmd", "tools.go", "Makefile", "go.mod", "go.sum", "README.md", "deploy", "LICENSE"}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		// `petstore serve` makes petstore.db where it is started.
		if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "petstore.db") && !slices.Contains(allowed, name) {
			t.Errorf("top level: got %s, want nothing beside %v and dot-files", name, allowed)
		}
	}
}
