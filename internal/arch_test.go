// Package internal has only tests of the repository's imports and pages.
package internal

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/memory"
)

var root = os.DirFS("..")

// matching returns the text of the files whose paths match a pattern, by their paths.
func matching(pattern string) map[string]string {
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

// product returns the text of the Go files of the program, by their paths. What only tests
// use is no part of it.
func product() map[string]string {
	all, isTest := matching(`\.go$`), regexp.MustCompile(`_test\.go$|tools\.go$|^internal/(proof|example)/|^engine/(contract|example)/|test/[^/]*$`)
	maps.DeleteFunc(all, func(file, _ string) bool { return isTest.MatchString(file) })
	return all
}

// importers lists, for a package and those below it, the directories that may import them,
// with those below. Tests and what only they use may import anything.
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

func exists(pattern string) bool {
	found, _ := fs.Glob(root, path.Clean(pattern))
	return len(found) > 0
}

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
		if found := word.FindString(strings.ReplaceAll(text, module+"/engine", "")); found != "" {
			t.Errorf("%s: got %q, want nothing about pets in the library", file, found)
		}
	}
	if len(library) == 0 {
		t.Error("got no file of the library")
	}
	for file, text := range product() {
		parsed := example.Must(parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly))
		for _, spec := range parsed.Imports {
			name := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if below(file, "internal/pets") && strings.Contains(strings.Split(name, "/")[0], ".") {
				t.Errorf("%s imports %s: the domain imports only the standard library", file, name)
			}
			for restricted, dirs := range importers {
				mayImport := slices.ContainsFunc(dirs, func(dir string) bool { return below(file, dir) })
				if below(name, restricted) && !below(file, restricted) && !mayImport {
					t.Errorf("%s imports %s: importers does not list it", file, name)
				}
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
		if property.MatchString(text) && !strings.Contains(page, "`"+file+"`") {
			t.Errorf("%s: got %q, want no property of a pet in a test that COPY.md does not name", file, property.FindString(text))
		}
	}
}

// TestClients checks that the programs which "make sdk" runs send each required property.
func TestClients(t *testing.T) {
	programs := regexp.MustCompile("(?s)\n```(bash|go|ts|python)\n.*?\n```\n").FindAllString(text(".github/CLIENTS.md"), -1)
	programs = slices.DeleteFunc(programs, func(p string) bool { return !strings.Contains(p, "PETSTORE_KEY") })
	programs = append(programs, text("internal/proof/sdk/Main.java"))
	if len(programs) < 4 {
		t.Errorf("CLIENTS.md: got %d programs, want 5, or 4 without Go", len(programs))
	}
	capital := regexp.MustCompile(`[A-Z]`)
	for _, property := range example.OpenAPI().Components.Schemas["NewPet"].Value.Required {
		sent := regexp.MustCompile(`(?i)\b` + capital.ReplaceAllString(property, "_?$0") + `"?[:=(]`)
		for _, program := range programs {
			if !sent.MatchString(program) {
				t.Errorf("CLIENTS.md: got no %s in %s", property, program)
			}
		}
	}
}

// text returns the text of one file, or of none.
func text(file string) string { return matching("^" + regexp.QuoteMeta(file) + "$")[file] }

// TestPages checks that the files, tests, make targets, flags and metrics that pages name exist. A
// flag or a metric exists if a string of the program is its name.
func TestPages(t *testing.T) {
	source, makefile := strings.Join(slices.Collect(maps.Values(product())), "\n"), text("Makefile")
	inProgram := func(name string) bool { return strings.Contains(source, `"`+name+`"`) }
	flags, suffix := regexp.MustCompile(`--[a-z-]+`), regexp.MustCompile(`_(count|bucket|sum)$`)
	pages := matching(`^(\.github/|deploy/.*|engine/.*|internal/.*)?[^/]*\.md$|^deploy/.*(prometheus/|/alerts)`)
	tests := strings.Join(slices.Collect(maps.Values(matching(`_test\.go$`))), "\n")
	for _, c := range []struct {
		kind, pattern string // the first group is a name
		exists        func(page, name string) bool
	}{
		{"link", `\]\(([^:)#]+)[)#]`, func(page, name string) bool {
			return exists(path.Join(path.Dir(page), name)) || removed(name)
		}},
		{"anchor", `\]\(([^:)]*#[^)]+)\)`, func(page, link string) bool {
			name, anchor, _ := strings.Cut(link, "#")
			if name != "" {
				page = path.Join(path.Dir(page), name)
			}
			return slices.Contains(anchors(pages[page]), anchor)
		}},
		{"runbook", `runbook_url: file:///usr/share/` + service.Name + `/(\S+)`, func(_, link string) bool {
			name, anchor, _ := strings.Cut(link, "#")
			return slices.Contains(anchors(pages["deploy/"+name]), anchor) || removed(name)
		}},
		{"file", "`((?:cmd|deploy|engine|gen|internal|\\.\\w+)/[^` ]*)`", func(_, name string) bool { return exists(name) || removed(name) }},
		{"declaration", "`(\\w+` in\\s+`engine/example/[^`]+\\.go)`", func(_, name string) bool {
			name, file, _ := strings.Cut(strings.Join(strings.Fields(name), " "), "` in `")
			return regexp.MustCompile(`(?m)^(func (\(.*?\) )?|type |\t)` + name + `\b`).MatchString(text(file))
		}},
		{"test", "`(Test\\w+)`", func(_, name string) bool { return strings.Contains(tests, "func "+name+"(") }},
		{"target", "`make ([a-z-]+)", func(_, name string) bool { return strings.Contains(makefile, "\n"+name+":") }},
		{"flag in", "(`--[^`]*|" + service.Name + " [a-z][^`\n]*)", func(page, command string) bool {
			for _, flag := range flags.FindAllString(command, -1) {
				if !inProgram(flag[2:]) && page != ".github/CLIENTS.md" { // which has flags of generators
					return false
				}
			}
			return true
		}},
		{"metric", service.Name + `_(\w+)`, func(_, name string) bool {
			return inProgram(suffix.ReplaceAllString(name, "")) || removed(name) || name == "serve" // a role of PostgreSQL
		}},
	} {
		found := 0
		for page, text := range pages {
			for _, m := range regexp.MustCompile(c.pattern).FindAllStringSubmatch(text, -1) {
				found++
				if !c.exists(page, m[1]) {
					t.Errorf("%s: there is no %s %s", page, c.kind, m[1])
				}
			}
		}
		if found == 0 {
			t.Errorf("pages: got no %s that matches %s", c.kind, c.pattern)
		}
	}
}

// anchors returns those of a page: its own, and those that GitHub makes of its headings.
func anchors(page string) (all []string) {
	for _, m := range regexp.MustCompile(`<a id="([^"]+)"></a>`).FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	punctuation := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// removed reports whether a name has the word of an optional part that is gone; see COPY.md.
func removed(name string) bool {
	parts := []string{"internal/store/postgres", "internal/store/sqlite", "internal/proof/contract/schemathesis"}
	return slices.ContainsFunc(parts, func(part string) bool {
		return strings.Contains(name, path.Base(part)) && !exists(part)
	})
}

// TestReadme checks that the table in README.md has the operations of the document, and that the
// service accepts the requests of its commands.
func TestReadme(t *testing.T) {
	var listed, want []string
	page := text("README.md")
	rows := regexp.MustCompile("\n\\| `(\\w+)`(, deprecated)?.* \\| `([A-Z]+ [^?` ]+)")
	for _, m := range rows.FindAllStringSubmatch(page, -1) {
		listed = append(listed, fmt.Sprintf("%s: %s, deprecated: %t", m[1], m[3], m[2] != ""))
	}
	for path, item := range example.OpenAPI().Paths.Map() {
		for method, o := range item.Operations() {
			want = append(want, fmt.Sprintf("%s: %s %s, deprecated: %t", o.OperationID, method, path, o.Deprecated))
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("README.md: the table has the operations %q, want %q", listed, want)
	}

	h := program.NewHandler(memory.New(), nil)
	commands := regexp.MustCompile(`(?s)\$ curl .*?(-d '([^']*)' )?'?(http:[^'\s]+)`)
	for _, m := range commands.FindAllStringSubmatch(page, -1) {
		method, url, body := http.MethodGet, m[3], m[2]
		if m[1] != "" {
			method = http.MethodPost
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, url, strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer " + program.Key}, "Content-Type": {"application/json"}}
		if h.ServeHTTP(w, r); w.Code >= 300 {
			t.Errorf("README.md: %s %s %s: got %d %s", method, url, body, w.Code, w.Body)
		}
	}
}

// number returns the number that a file has in the group of a pattern, or 0 if the file was removed.
func number(t *testing.T, file, pattern string) int {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text(file))
	if m == nil && !removed(file) {
		t.Fatalf("%s: got nothing that matches %s", file, pattern)
	}
	n, _ := strconv.Atoi(strings.Join(m[min(1, len(m)):], ""))
	return n
}

// TestLimits checks that the document, the page for operators and the files of deploy/ have the
// limits of the service. Those of nginx are higher, so that the service answers itself.
func TestLimits(t *testing.T) {
	size, names, seconds := service.MaxBody>>10, pets.MaxPageText>>10, service.Timeout.Seconds()
	page, image, nginx, compose := "deploy/README.md", "deploy/Dockerfile", "deploy/proxy/nginx.conf", "deploy/postgres/compose.yaml"
	unit, pod := "deploy/systemd/"+service.Name+".service", "deploy/postgres/kubernetes/"+service.Name+".yaml"
	header := number(t, "engine/server/server.go", `headerTimeout += (\d+) \* time.Second`)
	drain := number(t, "cmd/"+service.Name+"/serve.go", `"drain", (\d+)\*time.Second`)
	stop := number(t, "cmd/"+service.Name+"/main.go", `stopTime = (\d+) \* time.Second`)
	rate := number(t, nginx, `rate=(\d+)r/s`)
	line := number(t, "internal/proof/deploy/testdata/nginx.sh", `wc -L <"\$log"\)" -lt (\d+)`)
	heap := func(file, memory string) int { return number(t, file, memory) * 5 / 8 }
	for _, c := range []struct{ file, want string }{
		{"openapi.yaml", fmt.Sprintf("larger than %d KiB", size)},
		{"openapi.yaml", fmt.Sprintf("up to %d KiB long", size)},
		{"openapi.yaml", fmt.Sprintf("its names to %d KiB", names)},
		{"openapi.yaml", "at least 24 hours"}, // as storetest
		{"openapi.yaml", "up to 10 s later"},
		{"openapi.yaml", "knew 10 s before"},
		{"engine/db/postgres/retry.go", "callTimeout = 10 * time.Second"}, // a pet appears in time
		{"README.md", fmt.Sprintf("reach %d KiB", names)},
		{page, fmt.Sprintf("| body | %d KiB", size)},
		{page, fmt.Sprintf("| work on a request | %v s", seconds)},
		{page, fmt.Sprintf("| the header must arrive within | %d s", header)},
		{page, fmt.Sprintf("| draining after SIGTERM (`--drain`) | %d s; the process ends within %d s more", drain, stop)},
		{page, fmt.Sprintf("send %d requests per second", rate)},
		{page, fmt.Sprintf("after %v s, they get a 500 or 503", seconds+7)},
		{page, fmt.Sprintf("%d GB per day", 1+rate*86400*line/1e9)},
		{page, fmt.Sprintf("may use %d MiB", number(t, unit, `MemoryMax=(\d+)M`))},
		{page, fmt.Sprintf("GOMEMLIMIT=%dMiB", heap(page, `--memory (\d+)m`))},
		{image, fmt.Sprintf("GOMEMLIMIT=%dMiB", heap(image, `--memory (\d+)m`))},
		{unit, fmt.Sprintf("GOMEMLIMIT=%dMiB", heap(unit, `MemoryMax=(\d+)M`))},
		{compose, fmt.Sprintf("GOMEMLIMIT: %dMiB", heap(compose, `mem_limit: (\d+)m`))},
		{pod, fmt.Sprintf("GOMEMLIMIT\n              value: %dMiB", heap(pod, `limits:\s+memory: (\d+)Mi`))},
		{pod, "readinessProbe:\n            httpGet:\n              path: /readyz"},
		{unit, fmt.Sprintf("within --drain (%d s) plus %d s", drain, stop)},
		{nginx, fmt.Sprintf("the %d s of --drain", drain)},
		{nginx, fmt.Sprintf("client_max_body_size %dm;", size>>10+1)},
		{nginx, fmt.Sprintf("proxy_read_timeout %vs;", seconds+7)},
	} {
		if !strings.Contains(text(c.file), c.want) && !removed(c.file) {
			t.Errorf("%s: got no %q, want the limit of the service", c.file, c.want)
		}
	}
	id := example.OpenAPI().Components.Schemas["Pet"].Value.Properties["id"].Value
	if id.Type.Is("integer") && (id.Max == nil || *id.Max != pets.MaxID) {
		t.Errorf("openapi.yaml: got another maximum of id, want %d", pets.MaxID)
	}
	for _, c := range []struct {
		file, pattern string
		drain         int
	}{
		{unit, `TimeoutStopSec=(\d+)s`, drain},
		{compose, `stop_grace_period: (\d+)s`, drain},
		{pod, `terminationGracePeriodSeconds: (\d+)`, number(t, pod, `_DRAIN\s+value: (\d+)s`)},
	} {
		if got := number(t, c.file, c.pattern); got <= c.drain+stop && !removed(c.file) {
			t.Errorf("%s: %s: got %d, want more than %d", c.file, c.pattern, got, c.drain+stop)
		}
	}
}
