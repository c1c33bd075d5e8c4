// Package internal holds only tests of the repository: of its imports and its pages.
package internal

import (
	"fmt"
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

// files returns the text of the files whose paths match a pattern, by their paths.
func files(pattern string) map[string]string {
	texts, isWanted := map[string]string{}, regexp.MustCompile(pattern).MatchString
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && len(file) > 1 && file[0] == '.' && file != ".github" {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() || !isWanted(file) {
			return err
		}
		text, err := fs.ReadFile(root, file)
		texts[file] = string(text)
		return err
	})
	if err != nil {
		panic(err)
	}
	return texts
}

// program returns the text of the Go files of the program, by their paths. What only tests
// use is no part of it.
func program() map[string]string {
	all, isTest := files(`\.go$`), regexp.MustCompile(`_test\.go$|^tools\.go$|^internal/(proof|example)/|test/[^/]*$`)
	maps.DeleteFunc(all, func(file, _ string) bool { return isTest.MatchString(file) })
	return all
}

// importers lists for packages, each with those below it, the directories whose code may
// import them, again with those below. Tests and what only they use may import anything.
var importers = map[string][]string{
	"github.com/getkin/kin-openapi": {"internal/edge"},
	"github.com/labstack/echo":      {"gen/api", "internal/edge", "internal/service"},
	"github.com/spf13/cobra":        {"cmd"},
	"net/http":                      {"cmd", "gen", "internal/edge", "internal/server"},

	"database/sql":             {"internal/db/sqlite", "internal/store/sqlite"},
	"modernc.org":              {"internal/db/sqlite"},
	"github.com/jackc/pgx":     {"internal/db/postgres", "internal/store/postgres"},
	"github.com/pressly/goose": {"internal/db/postgres", "internal/db/sqlite"},

	// About pets. No engine imports one of them.
	"gen":                     {"internal/service"},
	"internal/pets":           {"cmd", "internal/service", "internal/store"},
	"internal/service":        {"cmd"},
	"internal/store":          {"cmd"},
	"internal/store/memory":   {"internal/store/address"},
	"internal/store/sqlite":   {"internal/store/address"},
	"internal/store/postgres": {"internal/store/address"},

	// Engines.
	"internal/db":          {"cmd", "internal/store"},
	"internal/db/sqlite":   {"internal/store/sqlite"},
	"internal/db/postgres": {"internal/store/postgres"},
	"internal/docs":        {"internal/service"},
	"internal/edge":        {"cmd", "internal/docs", "internal/service"},
	"internal/keys":        {"cmd", "internal/service", "internal/store"},
	"internal/server":      {"cmd"},

	// Only for tests.
	"internal/example": {},
	"internal/proof":   {},
}

// optional are the files and folders of parts that may have been removed; see CONTRIBUTING.md.
var optional = []string{
	"internal/db/postgres", "internal/store/postgres", "internal/db/sqlite", "internal/store/sqlite", "internal/docs",
	"deploy/postgres/from-sqlite.md",
}

func removed(dir string) bool { return slices.Contains(optional, dir) && !exists(dir) }

func exists(pattern string) bool {
	found, _ := fs.Glob(root, path.Clean(pattern))
	return len(found) > 0
}

func TestImports(t *testing.T) {
	module := regexp.MustCompile(`module (\S+)`).FindStringSubmatch(text("go.mod"))[1]
	imported := map[string]bool{} // packages of importers, with directories of their lists
	for file, text := range program() {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			name := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if below(file, "internal/pets") && strings.Contains(strings.Split(name, "/")[0], ".") {
				t.Errorf("%s imports %s: the domain imports only the standard library", file, name)
			}
			for restricted, dirs := range importers {
				if !below(name, restricted) || below(file, restricted) {
					continue
				}
				i := slices.IndexFunc(dirs, func(dir string) bool { return below(file, dir) })
				if i < 0 {
					t.Errorf("%s imports %s: importers does not list it", file, name)
					continue
				}
				imported[restricted+" "+dirs[i]] = true
			}
		}
	}
	for restricted, dirs := range importers {
		for _, dir := range dirs {
			if !imported[restricted+" "+dir] && !removed(restricted) && !removed(dir) {
				t.Errorf("importers: nothing in %s imports %s, want no row or directory without a use", dir, restricted)
			}
		}
	}
}

func below(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }

// TestEngines checks that what another service takes as it is does not know this one, and
// that few tests know the properties of a pet.
func TestEngines(t *testing.T) {
	word := regexp.MustCompile(`(?i)\bpets?\b`)
	engines := regexp.MustCompile(`\nengines='(.*)'`).FindStringSubmatch(text(".github/update.sh"))[1]
	for file, text := range files("^(" + strings.ReplaceAll(engines, " ", "|") + ")/.*[^z]$") { // no compressed file
		if word.MatchString(text) {
			t.Errorf("%s: got %q, want no word about pets in an engine", file, word.FindString(text))
		}
	}
	_, page, _ := strings.Cut(text(".github/CONTRIBUTING.md"), "\n## Replace the resource\n")
	page, _, _ = strings.Cut(page, "\n## ")
	property := regexp.MustCompile(`(?i)category_?id|pets\.(Sold|Status)`)
	for file, text := range files(`_test\.go$|/testdata/|^internal/(example|proof|store/storetest)/.*\.(go|sh)$`) {
		if property.MatchString(text) && !strings.Contains(page, "`"+file+"`") {
			t.Errorf("%s: got %q, want no property of a pet in a test that CONTRIBUTING.md does not name", file, property.FindString(text))
		}
	}
}

func join(texts map[string]string) string {
	return strings.Join(slices.Collect(maps.Values(texts)), "\n")
}

// text returns the text of one file, or of none.
func text(file string) string { return files("^" + regexp.QuoteMeta(file) + "$")[file] }

// TestPages checks that what the pages and deploy/ name exists: files, Go identifiers,
// make targets, commands, flags, operations, fields, alerts and metrics.
func TestPages(t *testing.T) {
	pages := files(`^(\.github/|deploy/.*)?[^/]*\.md$`)
	engines := files(`^internal/db/.*\.md$`)
	operators := files(`^(deploy/.*)?[^/]*\.md$`) // .github/CLIENTS.md has flags of generators
	alerts := files(`^deploy/.*(prometheus/|/alerts|/dashboard)`)
	rules := join(alerts)
	sources := program()
	maps.DeleteFunc(sources, func(file, _ string) bool { return below(file, "gen") })
	source := join(sources)
	document, makefile := text("openapi.yaml"), text("Makefile")
	code := join(files(`\.go$`)) // tests, too
	metrics := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:NewDesc\(|\.gauge\(|Name: +)"(\w+)"`).FindAllStringSubmatch(source, -1) {
		metrics[service.Name+"_"+m[1]] = true
	}
	inSource := func(name string) bool { return strings.Contains(source, name) }
	foreign, suffix := regexp.MustCompile(`^(process_|node_textfile_)`), regexp.MustCompile(`_(count|bucket|sum)$`)
	metric := func(_, name, _ string) bool {
		store := strings.Split(name, "_")[1]
		return metrics[suffix.ReplaceAllString(name, "")] || foreign.MatchString(name) || removed("internal/db/"+store)
	}
	inDocument := func(_, name, _ string) bool { return regexp.MustCompile(`\b` + name + `\b`).MatchString(document) }
	upper := strings.ToUpper(service.Name)
	for _, c := range []struct {
		what    string
		files   map[string]string
		pattern string // its first group is the name, its second more about it
		exists  func(file, name, more string) bool
		page    string // has some; another page may be removed
	}{
		{"file", pages, `\]\(([^:)#]+)[)#]`, func(file, name, _ string) bool { return exists(path.Join(path.Dir(file), name)) }, "README.md"},
		{"file", pages, "`((?:cmd|deploy|gen|internal|\\.\\w+)/[^` ]*)`", func(_, name, _ string) bool { return exists(name) || removed(name) }, "README.md"},
		{"identifier", pages, "`(\\w+)` in\\s+`([^` ]+/[^` ]+\\.go)`", func(_, name, file string) bool { return strings.Contains(text(file), name) }, ".github/CONTRIBUTING.md"},
		{"identifier", engines, "`(?:\\w+\\.)?(\\w+)`", func(_, name, _ string) bool {
			if strings.HasPrefix(name, "Test") {
				return strings.Contains(code, "func "+name+"(")
			}
			return regexp.MustCompile(`\b` + name + `\b`).MatchString(code)
		}, "internal/db/sqlite/README.md"},
		{"target", pages, "`make ([a-z-]+)", func(_, name, _ string) bool { return strings.Contains(makefile, "\n"+name+":") }, "README.md"},
		{"command", pages, "(?:`|[$#] |-- |bin/)" + service.Name + " ([a-z]+)", func(_, name, _ string) bool { return inSource(`"`+name+`"`) || inSource(`"`+name+" ") }, "README.md"},
		{"flag", operators, "(?:`|" + service.Name + " [a-z][^`\n]*? )--([a-z-]+)", func(_, name, _ string) bool { return inSource(`"` + name + `"`) }, "README.md"},
		{"operation", operators, "`((?:list|get|create)[A-Z]\\w+)`", inDocument, "README.md"},
		{"field", files(`^([^/]*|\.github/CLIENTS)\.md$`), `"([a-z]\w+)": *["\d]`, inDocument, "README.md"},
		{"variable", files("^deploy/"), upper + `_([A-Z_]+)`, func(_, name, _ string) bool {
			return inSource(`"`+strings.ToLower(strings.ReplaceAll(name, "_", "-"))+`"`) || inSource(upper+"_"+name)
		}, "deploy/README.md"},
		{"alert", pages, "`(" + upper[:1] + service.Name[1:] + "[A-Z]\\w+)`", func(_, name, _ string) bool { return strings.Contains(rules, "alert: "+name+"\n") }, "deploy/README.md"},
		{"metric", pages, "`(" + service.Name + "(?:_[a-z]+){2,})`", metric, "deploy/postgres/README.md"},
		// A name in quotes after = is the value of a label, one with a bracket or a colon a
		// function or a key of YAML.
		{"metric", alerts, `(?:^|[^="\w]|[^=\\]\\?")([a-z]+(?:_[a-z0-9]+)+)\b([^(:.]|$)`, metric, "deploy/prometheus/alerts.yml"},
	} {
		for file, text := range c.files {
			found := regexp.MustCompile(c.pattern).FindAllStringSubmatch(text, -1)
			for _, m := range found {
				if !c.exists(file, m[1], strings.Join(m[2:], "")) {
					t.Errorf("%s: there is no %s %s", file, c.what, m[1])
				}
			}
			if file == c.page && len(found) == 0 {
				t.Errorf("%s: got no %s that matches %s", file, c.what, c.pattern)
			}
		}
	}
}

// TestLimits checks that the document, nginx and the page of operators have the limits of
// the service. Those of nginx are higher, so that the service answers itself.
func TestLimits(t *testing.T) {
	size, seconds := fmt.Sprintf("%d KiB", service.MaxBody>>10), service.Timeout.Seconds()
	for file, wants := range map[string][]string{
		"openapi.yaml":     {"larger than " + size, fmt.Sprintf("larger than %d bytes", service.MaxBody)},
		"deploy/README.md": {"| body | " + size, fmt.Sprintf("| work on a request | %v s", seconds)},
		"deploy/proxy/nginx.conf": {
			"larger than " + size, fmt.Sprintf("client_max_body_size %dm;", service.MaxBody>>20+1), fmt.Sprintf("proxy_read_timeout %vs;", seconds+7),
		},
	} {
		for _, want := range wants {
			if !strings.Contains(text(file), want) {
				t.Errorf("%s: got no %q, which follows from the limits of service", file, want)
			}
		}
	}
}
