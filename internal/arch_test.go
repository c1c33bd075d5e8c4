// Package internal holds only tests of the repository: of its imports and its pages.
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

	"example.com/petstore/internal/service"
)

var root = os.DirFS("..")

// product returns the text of the Go files of the program, by their paths.
func product(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if file == "internal/proof" || file == "internal/example" || d.IsDir() && len(file) > 1 && file[0] == '.' {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || file == "tools.go" {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		files[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// importers lists for packages, each with those below it, the directories whose code may
// import them. Tests, internal/example and
// internal/proof may import anything.
var importers = map[string][]string{
	"github.com/getkin/kin-openapi": {"internal/edge"},
	"github.com/labstack/echo":      {"gen/api", "internal/edge", "internal/service"},
	"github.com/spf13/cobra":        {"cmd/petstore"},
	"net/http":                      {"gen/api", "gen/client", "cmd/petstore", "internal/edge", "internal/server", "internal/service"},
	"testing":                       {"internal/store/storetest", "internal/db/postgres/pgtest"},

	"database/sql":             {"internal/db/sqlite", "internal/store/sqlite"},
	"modernc.org":              {"internal/db/sqlite"},
	"github.com/jackc/pgx":     {"internal/db/postgres", "internal/db/postgres/pgtest", "internal/store/postgres"},
	"github.com/pressly/goose": {"internal/db/sqlite", "internal/db/postgres"},

	"gen":                     {"internal/service"},
	"internal/docs":           {"internal/service"},
	"internal/edge":           {"cmd/petstore", "internal/docs", "internal/service"},
	"internal/keys":           {"cmd/petstore", "internal/edge", "internal/service", "internal/store", "internal/store/memory", "internal/store/sqlite", "internal/store/postgres", "internal/store/storetest"},
	"internal/pets":           {"cmd/petstore", "internal/service", "internal/store", "internal/store/memory", "internal/store/sqlite", "internal/store/postgres", "internal/store/storetest"},
	"internal/server":         {"cmd/petstore"},
	"internal/service":        {"cmd/petstore"},
	"internal/store":          {"cmd/petstore", "internal/store/address", "internal/store/memory", "internal/store/sqlite", "internal/store/postgres", "internal/store/storetest"},
	"internal/store/address":  {"cmd/petstore"},
	"internal/store/memory":   {"internal/store/address"},
	"internal/store/sqlite":   {"internal/store/address"},
	"internal/store/postgres": {"internal/store/address"},
	"internal/db/postgres":    {"internal/store/postgres"},
	"internal/example":        {"internal/store/storetest"},
	"internal/proof":          {},
}

func TestImports(t *testing.T) {
	for file, text := range product(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			name := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), "example.com/petstore/")
			if !isAllowed(path.Dir(file), name) {
				t.Errorf("%s imports %s: importers does not list it", file, name)
			}
		}
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

// read returns the text of the files that match patterns, by their paths.
func read(patterns ...string) map[string]string {
	texts := map[string]string{}
	for _, pattern := range patterns {
		files, _ := fs.Glob(root, pattern)
		for _, file := range files {
			if text, err := fs.ReadFile(root, file); err == nil { // not a directory
				texts[file] = string(text)
			}
		}
	}
	return texts
}

func join(files map[string]string) string {
	return strings.Join(slices.Collect(maps.Values(files)), "\n")
}

// TestPages checks that what the pages and deploy/ name exists: files, Go identifiers,
// make targets, commands, flags, alerts and metrics.
func TestPages(t *testing.T) {
	pages := read("*.md", ".github/*.md", "deploy/*.md", "deploy/*/*.md")
	operators := read("*.md", "deploy/*.md", "deploy/*/*.md") // .github/CLIENTS.md has flags of generators
	manifests := read("deploy/*", "deploy/systemd/*", "deploy/postgres/*", "deploy/postgres/kubernetes/*")
	alerts := read("deploy/prometheus/*", "deploy/*/alerts*")
	rules := join(alerts)
	program := product(t)
	maps.DeleteFunc(program, func(file, _ string) bool { return below(file, "gen") })
	source := join(program)
	metrics := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:NewDesc\(|\.gauge\(|Name: +)"(\w+)"`).FindAllStringSubmatch(source, -1) {
		metrics[service.Name+"_"+m[1]] = true
	}
	exists := func(name string) bool {
		found, _ := fs.Glob(root, path.Clean(name))
		return len(found) > 0
	}
	inSource := func(name string) bool { return strings.Contains(source, name) }
	foreign, suffix := regexp.MustCompile(`^(process_|node_textfile_)`), regexp.MustCompile(`_(count|bucket|sum)$`)
	metric := func(_, name, _ string) bool {
		return metrics[suffix.ReplaceAllString(name, "")] || foreign.MatchString(name)
	}
	upper := strings.ToUpper(service.Name)
	for _, c := range []struct {
		what    string
		files   map[string]string
		pattern string // its first group is the name, its second more about it
		exists  func(file, name, more string) bool
	}{
		{"file", pages, `\]\(([^:)#]+)[)#]`, func(file, name, _ string) bool { return exists(path.Join(path.Dir(file), name)) }},
		{"file", pages, "`((?:cmd|deploy|gen|internal|\\.\\w+)/[^` ]*)`", func(_, name, _ string) bool { return exists(name) }},
		{"identifier", pages, "`(\\w+)` in `([^` ]+/[^` ]+\\.go)`", func(_, name, file string) bool { return strings.Contains(read(file)[file], name) }},
		{"target", pages, "`make ([a-z-]+)", func(_, name, _ string) bool { return strings.Contains(read("Makefile")["Makefile"], "\n"+name+":") }},
		{"command", pages, "(?:`|[$#] |-- |bin/)" + service.Name + " ([a-z]+)", func(_, name, _ string) bool { return inSource(`"`+name+`"`) || inSource(`"`+name+" ") }},
		{"flag", operators, "(?:`|" + service.Name + " [a-z][^`\n]*? )--([a-z-]+)", func(_, name, _ string) bool { return inSource(`"` + name + `"`) }},
		{"variable", manifests, upper + `_([A-Z_]+)`, func(_, name, _ string) bool {
			return inSource(`"`+strings.ToLower(strings.ReplaceAll(name, "_", "-"))+`"`) || inSource(upper+"_"+name)
		}},
		{"alert", pages, "`(" + upper[:1] + service.Name[1:] + "[A-Z]\\w+)`", func(_, name, _ string) bool { return strings.Contains(rules, "alert: "+name+"\n") }},
		{"metric", pages, "`(" + service.Name + "(?:_[a-z]+){2,})`", metric},
		// A name in quotes after = is the value of a label, one with a bracket or a colon a
		// function or a key of YAML.
		{"metric", alerts, `(?:^|[^="\w]|[^=\\]\\?")([a-z]+(?:_[a-z0-9]+)+)\b([^(:.]|$)`, metric},
	} {
		found := 0
		for file, text := range c.files {
			for _, m := range regexp.MustCompile(c.pattern).FindAllStringSubmatch(text, -1) {
				found++
				if !c.exists(file, m[1], strings.Join(m[2:], "")) {
					t.Errorf("%s: there is no %s %s", file, c.what, m[1])
				}
			}
		}
		if found == 0 {
			t.Errorf("got no %s that matches %s", c.what, c.pattern)
		}
	}
}
