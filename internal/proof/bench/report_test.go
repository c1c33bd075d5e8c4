package bench

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// measured is the content of a file in the directory measured.
type measured struct {
	Name    string   `json:"name"`
	Taken   string   `json:"taken"`
	Machine string   `json:"machine"`
	Servers []string `json:"servers"` // the others are compared with the first
	Rows    []row    `json:"rows"`
}

// row has the values of each server, one per round.
type row struct {
	Name   string               `json:"name"`
	Unit   string               `json:"unit"`
	Values map[string][]float64 `json:"values"`
}

func newMeasured(name string, servers ...string) *measured {
	info, _ := os.ReadFile("/proc/cpuinfo")
	processors := regexp.MustCompile(`model name\s*: (.*)`).FindAllSubmatch(info, -1)
	machine := fmt.Sprintf("%d × %s, %s", len(processors), processors[0][1], runtime.Version())
	return &measured{Name: name, Taken: time.Now().Format(time.DateOnly), Machine: machine, Servers: servers}
}

// TestReport fails if the tables and charts do not match the measured files.
func TestReport(t *testing.T) {
	for name, want := range report(t) {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s does not match the measured files (error %v); run make bench", name, err)
		}
	}
}

const frontPage = "../../../README.md"

// report returns the pages with their tables, and the charts, by file name.
func report(t testing.TB) map[string]string {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	front, err := os.ReadFile(frontPage)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	summary := "| store, peer | list | filtered list | get | create, 32 clients | create, 1 client |\n| --- | --: | --: | --: | --: | --: |\n"
	files, _ := filepath.Glob("measured/*.json")
	for _, file := range files {
		var m measured
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		readme = replaceTable(t, readme, ": "+m.Name, m.table()+"\n")
		summary += m.summary()
		out[strings.TrimSuffix(file, ".json")+".svg"] = m.chart()
	}
	out["README.md"] = string(readme)
	out[frontPage] = string(replaceTable(t, front, "", summary))
	return out
}

// replaceTable replaces the named table in a page.
func replaceTable(t testing.TB, page []byte, name, table string) []byte {
	place := regexp.MustCompile("(?s)(<!-- measured" + name + " -->\n).*?(<!-- end -->)")
	if !place.Match(page) {
		t.Fatalf("a page has no %s", place)
	}
	return place.ReplaceAll(page, []byte("${1}"+table+"${2}"))
}

// summary returns a row of the front page's table: the cost of petstore relative
// to the hand-written peer that prepares its statements.
func (m *measured) summary() string {
	kind, peer := map[string]string{"memory": "memory", "sqlite": "SQLite", "postgres": "PostgreSQL"}[m.Name], "equipped"
	if kind == "" {
		return ""
	}
	if slices.Contains(m.Servers, "prepared") {
		peer = "prepared"
	}
	line := "| " + kind + ", `" + peer + "` |"
	for _, r := range m.Rows[:5] {
		line += fmt.Sprintf(" %.2f |", quantile(ratios(r.Values[m.Servers[0]], r.Values[peer]), 0.5))
	}
	return line + "\n"
}

func (m *measured) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "![](measured/%s.svg)\n\n%s. %s. %d rounds.\n\n", m.Name, m.Taken, m.Machine, len(m.Rows[0].Values[m.Servers[0]]))
	fmt.Fprintf(&b, "| processor time a request | %s |", m.Servers[0])
	for _, s := range m.Servers[1:] {
		fmt.Fprintf(&b, " %s | ÷ %s |", s, m.Servers[0])
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --: |", 2*len(m.Servers)-1))
	for _, r := range m.Rows {
		fmt.Fprintf(&b, "| %s, %s", r.Name, r.Unit)
		for i, s := range m.Servers {
			fmt.Fprintf(&b, " | %s", spread(r.Values[s], 1))
			if i > 0 {
				fmt.Fprintf(&b, " | %s", spread(ratios(r.Values[s], r.Values[m.Servers[0]]), 2))
			}
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// ratios returns each value of a divided by that of b in the same round.
func ratios(a, b []float64) []float64 {
	out := slices.Clone(a)
	for i := range b {
		out[i] /= b[i]
	}
	return out
}

// spread returns the median and the quartiles of values.
func spread(values []float64, digits int) string {
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, quantile(values, 0.5), digits, quantile(values, 0.25), digits, quantile(values, 0.75))
}

// quantile interpolates between the two values nearest to q.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	low, part := math.Modf(q * float64(len(sorted)-1))
	return sorted[int(low)]*(1-part) + sorted[min(int(low)+1, len(sorted)-1)]*part
}

// chart draws a bar for the median of each server in each row.
func (m *measured) chart() string {
	var b strings.Builder
	y := 0
	for _, r := range m.Rows {
		y += 32
		fmt.Fprintf(&b, "<text class=\"row\" x=\"8\" y=\"%d\">%s</text>\n", y, html.EscapeString(r.Name))
		longest := 0.0
		for _, s := range m.Servers {
			longest = max(longest, quantile(r.Values[s], 0.5))
		}
		for i, s := range m.Servers {
			y += 18
			median := quantile(r.Values[s], 0.5)
			width := 500 * median / longest
			fmt.Fprintf(&b, `<text x="8" y="%d">%s</text><rect class="server%d" x="130" y="%d" width="%.0f" height="12"/>`, y, s, i, y-10, width)
			fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%d\">%.1f %s</text>\n", 136+width, y, median, r.Unit)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %d" role="img" aria-label="Processor time a request: %s">
<style>
text { font: 12px system-ui, sans-serif; fill: #444 }
.row { font-weight: 600 }
rect { fill: #a9b4bd } .server0 { fill: #2f7d4f }
@media (prefers-color-scheme: dark) { text { fill: #ccc } rect { fill: #5d6872 } .server0 { fill: #4caf7a } }
</style>
%s</svg>
`, y+16, m.Name, b.String())
}
