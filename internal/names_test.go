package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/service"
)

// foreign lists metrics that are not the service's own, besides those of Go's
// collectors, and words of PromQL.
const foreign = " up ALERTS and or unless on by bool "

var (
	stringOrRange = regexp.MustCompile(`"[^"]*"|\[[^]]*\]|\{[^}]*\}|\b(?:by|on|ignoring|without)\s*\([^)]*\)|\d+\w*`)
	identifier    = regexp.MustCompile(`\b([a-zA-Z_]\w*)\b(\s*\()?`)
)

// TestMetricNames checks that the alerts, their tests and the dashboards name only
// metrics that the program registers, whatever their prefix.
func TestMetricNames(t *testing.T) {
	known := metricNames(t)
	root := os.DirFS("../deploy/prometheus")
	files, _ := fs.Glob(root, "[ad]*.*")
	found := 0
	check := func(file, expression string) {
		expression = stringOrRange.ReplaceAllString(strings.ReplaceAll(expression, `\"`, `"`), " ")
		for _, m := range identifier.FindAllStringSubmatch(expression, -1) {
			name := regexp.MustCompile(`_(count|bucket|sum)$`).ReplaceAllString(m[1], "")
			if m[2] != "" || strings.Contains(foreign, " "+m[1]+" ") {
				continue
			}
			found++
			if !known[name] && !known[m[1]] {
				t.Errorf("deploy/prometheus/%s: the program has no metric %s", file, m[1])
			}
		}
	}
	for _, file := range files {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			t.Fatal(err)
		}
		expressions := regexp.MustCompile(`(?m)^ *(?:- )?expr: (?:>\n((?: {10}.*\n)+)|([^*\n].*))|series: '([^']*)'|"expr": "((?:\\"|[^"])*)"|\{expr: '([^']*)'`)
		for _, m := range expressions.FindAllStringSubmatch(string(text), -1) {
			check(file, strings.Join(m[1:], " "))
		}
	}
	if found < 50 {
		t.Errorf("got %d names of metrics, want those of the alerts and dashboards", found)
	}
}

// metricNames returns the metrics in the program's source, with its prefix, and those of
// Prometheus's collector for processes.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	descriptions := make(chan *prometheus.Desc, 100)
	collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}).Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		known[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	add := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			known[service.Name+"_"+strings.Trim(l.Value, `"`)] = true
		}
	}
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // prometheus.NewDesc(name, …), m.gauge(name, …)
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "NewDesc" || s.Sel.Name == "gauge") {
				add(n.Args[0])
			}
		case *ast.CompositeLit: // prometheus.GaugeOpts{Name: name, …}
			s, ok := n.Type.(*ast.SelectorExpr)
			if !ok || !strings.HasSuffix(s.Sel.Name, "Opts") {
				return true
			}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Name" {
					add(kv.Value)
				}
			}
		}
		return true
	}
	for _, pattern := range []string{"cmd/petstore/*.go", "internal/*/*.go", "internal/store/*/*.go"} {
		paths, _ := filepath.Glob("../" + pattern)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, inspect)
		}
	}
	return known
}

// TestPrefixes checks that deploy/ and the pages have the prefix of keys and the base
// path of their homes, the package keys and openapi.yaml.
func TestPrefixes(t *testing.T) {
	_, token, err := keys.New("test", time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	prefix, _, _ := strings.Cut(token, "_")
	keyPattern, publicURL := regexp.MustCompile(`(\w+)_\[0-9A-Za-z\]`), regexp.MustCompile(`PUBLIC_URL[=:] ?https://[^/\s]+(/[^\s']*)`)
	check := func(file string, pattern *regexp.Regexp, want string) {
		text, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		all := pattern.FindAllStringSubmatch(string(text), -1)
		if len(all) == 0 {
			t.Errorf("%s: got no %s", file, pattern)
		}
		for _, m := range all {
			if m[1] != want {
				t.Errorf("%s: got %s in %s, want %s", file, m[1], m[0], want)
			}
		}
	}
	check(".github/SECURITY.md", keyPattern, prefix)
	check("openapi.yaml", regexp.MustCompile(`Bearer (\w+)_…`), prefix)
	for _, file := range []string{"deploy/README.md", "deploy/systemd/petstore.env"} {
		check(file, publicURL, example.Base())
	}
}
