package internal

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/service"
)

var root = os.DirFS("..")

// read returns the text of the files that match a pattern, by their paths.
func read(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range patterns {
		files, _ := fs.Glob(root, pattern)
		for _, file := range files {
			text, err := fs.ReadFile(root, file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = string(text)
		}
	}
	return texts
}

// TestPages checks that the files, identifiers and make targets that the pages
// name exist.
func TestPages(t *testing.T) {
	file := regexp.MustCompile(`\]\(([^:)#]+)[)#]|` + "`((?:cmd|deploy|gen|internal|\\.\\w+)/[^` ]*)`")
	identifier := regexp.MustCompile("`(\\w+)` in `([^` ]+/[^` ]+\\.go)`")
	target := regexp.MustCompile("`make ([a-z-]+)")
	for page, text := range read(t, "*.md", ".github/*.md", "deploy/*.md", "internal/proof/bench/*.md") {
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			name := path.Clean(m[2])
			if m[1] != "" { // a link
				name = path.Join(path.Dir(page), m[1])
			}
			if found, _ := fs.Glob(root, name); len(found) == 0 {
				t.Errorf("%s: %s does not exist", page, name)
			}
		}
		for _, m := range identifier.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(read(t, m[2])[m[2]], m[1]) {
				t.Errorf("%s: %s has no %s", page, m[2], m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(read(t, "Makefile")["Makefile"], "\n"+m[1]+":") {
				t.Errorf("%s: Makefile has no %s", page, m[1])
			}
		}
	}
}

// words are those with an underscore in deploy/prometheus that are no metrics of the
// program: metrics of every process and of exporters, labels, and settings of PostgreSQL in sentences.
const words = " http_2xx probe_success probe_ssl_earliest_cert_expiry node_textfile_mtime_seconds process_start_time_seconds process_cpu_seconds_total process_resident_memory_bytes " +
	"in_flight synchronous_commit client_min_messages pg_monitor "

// TestMetricNames checks that the alerts, their tests and the dashboards name only
// metrics that the program registers, whatever their prefix, and so do the pages.
func TestMetricNames(t *testing.T) {
	known, tails := map[string]bool{}, map[string]bool{} // with the prefix, and without if more than one word is left
	name := regexp.MustCompile(`(?:NewDesc\(|\.gauge\(|Name: +)"(\w+)"`)
	for file, text := range read(t, "cmd/petstore/*.go", "internal/*/*.go", "internal/store/*/*.go") {
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			if !strings.HasSuffix(file, "_test.go") {
				known[service.Name+"_"+m[1]] = true
				tails[m[1]] = strings.Contains(m[1], "_")
			}
		}
	}
	found := 0
	word := regexp.MustCompile(`\b([a-z]+)_([a-z0-9]+(?:_[a-z0-9]+)*)\b(\(|:|\.yml)?`) // with what follows a function, a key of YAML, and a file
	for file, text := range read(t, "deploy/prometheus/*", "*.md", ".github/*.md", "deploy/*.md") {
		for _, m := range word.FindAllStringSubmatch(text, -1) {
			tail := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(m[2], "_count"), "_bucket"), "_sum")
			metric := m[1] + "_" + tail
			if m[3] != "" || strings.Contains(words, " "+metric+" ") || strings.HasSuffix(file, ".md") && !tails[tail] {
				continue
			}
			if found++; !known[metric] {
				t.Errorf("%s: the program has no metric %s", file, metric)
			}
		}
	}
	if found < 50 {
		t.Errorf("got %d names of metrics, want those of the alerts and dashboards", found)
	}
}

// TestOperationNames checks that alerts and panels of operations name all of the document.
func TestOperationNames(t *testing.T) {
	var ids []string
	for _, m := range regexp.MustCompile(`\n      operationId: (\w+)`).FindAllStringSubmatch(read(t, "openapi.yaml")["openapi.yaml"], -1) {
		ids = append(ids, m[1])
	}
	for file, text := range read(t, "deploy/prometheus/*") {
		for _, m := range regexp.MustCompile(`operation=~\\*"([\w|]+)`).FindAllStringSubmatch(text, -1) {
			if want := strings.Join(ids, "|"); m[1] != want {
				t.Errorf("%s: got %s, want %s", file, m[1], want)
			}
		}
	}
}

// TestPrefixes checks that the pages, deploy/ and the document have the prefix of keys
// and the base path of their homes, the package keys and openapi.yaml.
func TestPrefixes(t *testing.T) {
	_, token, err := keys.New("test", time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	prefix, _, _ := strings.Cut(token, "_")
	publicURL := `PUBLIC_URL[=:] ?https://(?:\$\{[^}]*\}|[^/\s]+)(/[^\s']*)`
	for _, c := range []struct{ files, pattern, want string }{
		{".github/SECURITY.md", `(\w+)_\[0-9A-Za-z\]`, prefix},
		{"openapi.yaml", `Bearer (\w+)_…`, prefix},
		{"deploy/*.*", publicURL, example.Base()},
		{"deploy/systemd/petstore.env", publicURL, example.Base()},
	} {
		found := 0
		for file, text := range read(t, c.files) {
			for _, m := range regexp.MustCompile(c.pattern).FindAllStringSubmatch(text, -1) {
				if found++; m[1] != c.want {
					t.Errorf("%s: got %s in %s, want %s", file, m[1], m[0], c.want)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: got no %s", c.files, c.pattern)
		}
	}
}
