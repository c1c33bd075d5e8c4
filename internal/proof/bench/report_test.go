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

	"example.com/petstore/internal/proof/bench/peers"
)

// petstore is the name of the program among its peers.
const petstore = "petstore"

// measured is the content of a file in the directory measured.
type measured struct {
	Name    string   `json:"name"`
	Taken   string   `json:"taken"`
	Machine string   `json:"machine"`
	Servers []string `json:"servers"` // the first is compared with the others

	Rows      []row `json:"rows"`      // at an equal rate
	Saturated []row `json:"saturated"` // as many requests as the server can serve
}

// row has the values of each server, one per round.
type row struct {
	Name   string               `json:"name"`
	Unit   string               `json:"unit"`
	Rate   int                  `json:"rate,omitempty"` // requests per second
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
	summary := "| store | compared with | list | filtered list | get | create | create, saturated |\n| --- | --- | --: | --: | --: | --: | --: |\n"
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

// stores are the names of the measured files on the front page.
var stores = map[string]string{"memory": "memory", "postgres": "PostgreSQL", "sqlite": "SQLite"}

// summary returns the rows of the front page's table: the cost of petstore divided
// by that of a peer.
func (m *measured) summary() string {
	if stores[m.Name] == "" {
		return ""
	}
	var b strings.Builder
	for _, peer := range m.Servers[1:] {
		if peer == peers.Constant || peer == peers.Plain && slices.Contains(m.Servers, peers.Prepared) {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |", stores[m.Name], peer)
		for _, r := range m.Rows {
			fmt.Fprintf(&b, " %s |", spread(ratios(r.Values[petstore], r.Values[peer])))
		}
		create := m.Saturated[len(m.Saturated)-1]
		fmt.Fprintf(&b, " %s |\n", spread(ratios(create.Values[peer], create.Values[petstore]))) // times are inverse to rates
	}
	return b.String()
}

// table returns the chart, how the figures were taken, and a table of them for
// each kind of load.
func (m *measured) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "![](measured/%s.svg)\n\n%s. %s. %d rounds.\n\n", m.Name, m.Taken, m.Machine, len(m.Rows[0].Values[m.Servers[0]]))
	b.WriteString("| processor time of a request |")
	for i, s := range m.Servers {
		fmt.Fprintf(&b, " %s |", s)
		if i > 0 {
			fmt.Fprintf(&b, " %s ÷ it |", m.Servers[0])
		}
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --: |", 2*len(m.Servers)-1))
	for _, r := range m.Rows {
		fmt.Fprintf(&b, "| %s |", r.label())
		for i, s := range m.Servers {
			fmt.Fprintf(&b, " %s |", spread(r.Values[s]))
			if i > 0 {
				fmt.Fprintf(&b, " %s |", spread(ratios(r.Values[m.Servers[0]], r.Values[s])))
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n| requests per second, saturated | %s |\n| --- |%s\n", strings.Join(m.Servers, " | "), strings.Repeat(" --: |", len(m.Servers)))
	for _, r := range m.Saturated {
		fmt.Fprintf(&b, "| %s |", r.Name)
		for _, s := range m.Servers {
			fmt.Fprintf(&b, " %.0f |", quantile(r.Values[s], 0.5))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r row) label() string {
	if r.Rate == 0 {
		return r.Name + ", " + r.Unit
	}
	return fmt.Sprintf("%s, %d/s, %s", r.Name, r.Rate, r.Unit)
}

// ratios returns each value of a divided by that of b in the same round.
func ratios(a, b []float64) []float64 {
	out := slices.Clone(a)
	for i := range b {
		out[i] /= b[i]
	}
	return out
}

// spread returns the median of values, the lowest and the highest.
func spread(values []float64) string {
	return fmt.Sprintf("%.1f (%.1f–%.1f)", quantile(values, 0.5), slices.Min(values), slices.Max(values))
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
		fmt.Fprintf(&b, "<text class=\"row\" x=\"8\" y=\"%d\">%s</text>\n", y, html.EscapeString(r.label()))
		longest := 0.0
		for _, s := range m.Servers {
			longest = max(longest, quantile(r.Values[s], 0.5))
		}
		for i, s := range m.Servers {
			y += 18
			median := quantile(r.Values[s], 0.5)
			width := 460 * median / longest
			fmt.Fprintf(&b, `<text x="8" y="%d">%s</text><rect class="server%d" x="190" y="%d" width="%.0f" height="12"/>`, y, s, i, y-10, width)
			fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%d\">%.1f %s</text>\n", 196+width, y, median, r.Unit)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %d" role="img" aria-label="Processor time of a request: %s">
<style>
text { font: 12px system-ui, sans-serif; fill: #444 }
.row { font-weight: 600 }
rect { fill: #a9b4bd } .server0 { fill: #2f7d4f }
@media (prefers-color-scheme: dark) { text { fill: #ccc } rect { fill: #5d6872 } .server0 { fill: #4caf7a } }
</style>
%s</svg>
`, y+16, m.Name, b.String())
}
