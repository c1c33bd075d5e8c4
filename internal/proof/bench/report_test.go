package bench

import (
	"bytes"
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

// measured is a measured file.
type measured struct {
	Name    string   `json:"name"`
	Taken   string   `json:"taken"`
	Machine string   `json:"machine"`
	Servers []string `json:"servers"` // the others are compared with the first
	Rows    []row    `json:"rows"`
}

// row has the results of each server, one a round.
type row struct {
	Name    string              `json:"name"`
	Unit    string              `json:"unit"`
	Results map[string][]result `json:"results"`
}

// result is what one server did for one load in one round.
type result struct {
	Value     float64 `json:"value"` // mostly the processor time a request
	PerSecond float64 `json:"per_second,omitempty"`
	P99       float64 `json:"p99_ms,omitempty"`
	bytes     float64 // of the body of a response
}

func newMeasured(name string, servers ...string) *measured {
	info, _ := os.ReadFile("/proc/cpuinfo")
	processors := regexp.MustCompile(`model name\s*: (.*)`).FindAllSubmatch(info, -1)
	machine := fmt.Sprintf("%d × %s, %s", len(processors), processors[0][1], runtime.Version())
	return &measured{Name: name, Taken: time.Now().Format(time.DateOnly), Machine: machine, Servers: servers}
}

// TestReport fails if the tables and charts are not those of the measured files.
func TestReport(t *testing.T) {
	for name, want := range report(t) {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not what the measured files say (error %v); run make bench", name, err)
		}
	}
}

// report returns README.md with the tables, and the charts, by their file names.
func report(t testing.TB) map[string]string {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
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
		start, end := fmt.Sprintf("<!-- measured: %s -->\n", m.Name), "<!-- end -->\n"
		before, rest, ok1 := bytes.Cut(readme, []byte(start))
		_, after, ok2 := bytes.Cut(rest, []byte(end))
		if !ok1 || !ok2 {
			t.Fatalf("README.md has no place for %s: %s%s", m.Name, start, end)
		}
		readme = fmt.Append(nil, string(before), start, m.table(), end, string(after))
		out[strings.TrimSuffix(file, ".json")+".svg"] = m.chart()
	}
	out["README.md"] = string(readme)
	return out
}

func (m *measured) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "![](measured/%s.svg)\n\n%s. %s. %d rounds.\n\n", m.Name, m.Taken, m.Machine, len(m.Rows[0].Results[m.Servers[0]]))
	fmt.Fprintf(&b, "| processor time a request | %s |", m.Servers[0])
	for _, s := range m.Servers[1:] {
		fmt.Fprintf(&b, " %s | ÷ %s |", s, m.Servers[0])
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --: |", 2*len(m.Servers)-1))
	for _, r := range m.Rows {
		fmt.Fprintf(&b, "| %s, %s", r.Name, r.Unit)
		for i, s := range m.Servers {
			fmt.Fprintf(&b, " | %s", spread(r.values(s), 1))
			if i > 0 {
				fmt.Fprintf(&b, " | %s", spread(r.ratios(s, m.Servers[0]), 2))
			}
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// values returns the values of a server, one a round.
func (r row) values(server string) (values []float64) {
	for _, did := range r.Results[server] {
		values = append(values, did.Value)
	}
	return values
}

// ratios returns the values of a divided by those of b in the same round.
func (r row) ratios(a, b string) []float64 {
	out := r.values(a)
	for i, v := range r.values(b) {
		out[i] /= v
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
	const left, longest, step = 120, 540, 18
	var b strings.Builder
	y := step
	for _, r := range m.Rows {
		fmt.Fprintf(&b, "<text class=\"row\" x=\"8\" y=\"%d\">%s</text>\n", y, html.EscapeString(r.Name))
		most := 0.0
		for _, s := range m.Servers {
			most = max(most, quantile(r.values(s), 0.5))
		}
		for i, s := range m.Servers {
			y += step
			class := []string{"ours", "peer"}[min(i, 1)]
			value := quantile(r.values(s), 0.5)
			fmt.Fprintf(&b, "<text x=\"8\" y=\"%d\">%s</text>", y, s)
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"12\"/>", class, left, y-10, value/most*longest)
			fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%d\">%.1f %s</text>\n", left+6+value/most*longest, y, value, r.Unit)
		}
		y += 3 * step / 2
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %d" role="img" aria-label="Processor time a request: %s">
<style>
text { font: 12px system-ui, sans-serif; fill: #444 }
.row { font-weight: 600 }
.ours { fill: #2f7d4f } .peer { fill: #a9b4bd }
@media (prefers-color-scheme: dark) { text { fill: #ccc } .ours { fill: #4caf7a } .peer { fill: #5d6872 } }
</style>
%s</svg>
`, y, m.Name, b.String())
}
