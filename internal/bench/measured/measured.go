// Package measured is what was measured, as files and as tables. The files
// beside it are written by `make bench` and `make bench-scale`, and the tables
// and charts of the README are made from them, by `make bench-report`.
package measured

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Loopback is what servers of the same operations came to over the loopback
// interface.
type Loopback []Figure

// Figure is the median round of one server with one operation.
type Figure struct {
	Server    string  `json:"server"`
	Operation string  `json:"operation"`
	PerSecond float64 `json:"per_second"`
	P99Micros int64   `json:"p99_us"`
	CPUMicros float64 `json:"cpu_us"` // of the server, a request
}

// Scale is what a small and a large database came to.
type Scale struct {
	Pets          int        `json:"pets"` // in the large one; the small one has 1,000
	Questions     []Question `json:"questions"`
	StartUpMillis int64      `json:"start_up_ms"`
	PeakMemory    int64      `json:"peak_memory_bytes"`
	ProgramSize   int64      `json:"program_bytes"`
}

// Question is the median time of an answer from either database.
type Question struct {
	Name       string `json:"name"`
	FewMicros  int64  `json:"few_us"`
	ManyMicros int64  `json:"many_us"`
}

// Versus is the median of what pgbench, the store and the service came to with
// the statements of one operation on one PostgreSQL server, and the median of
// the rounds' ratios to pgbench.
type Versus struct {
	Operation      string
	PgBench        float64 // transactions a second
	Store, OfStore float64 // calls a second
	HTTP, OfHTTP   float64 // requests a second
	Goal           float64 // of the ratios
	CPUMicros      float64 // of the service, a request
}

// VersusTable returns the figures as a table of Markdown.
func VersusTable(all []Versus) string {
	rows := [][]string{{"operation", "goal", "pgbench tps", "store calls/s", "of pgbench", "service requests/s", "of pgbench", "processor time"}}
	for _, v := range all {
		rows = append(rows, []string{
			v.Operation, ratio(v.Goal), fmt.Sprintf("%.0f", v.PgBench),
			fmt.Sprintf("%.0f", v.Store), ratio(v.OfStore),
			fmt.Sprintf("%.0f", v.HTTP), ratio(v.OfHTTP), fmt.Sprintf("%.1f µs", v.CPUMicros),
		})
	}
	return table(rows)
}

// Ratio returns how f compares with another server at the same operation, 0
// where that was not measured.
func (l Loopback) Ratio(f Figure, server string) float64 {
	i := slices.IndexFunc(l, func(g Figure) bool { return g.Server == server && g.Operation == f.Operation })
	if i < 0 {
		return 0
	}
	return f.PerSecond / l[i].PerSecond
}

// Table returns the figures as a table of Markdown, which reads well on a
// terminal too.
func (l Loopback) Table() string {
	rows := [][]string{{"operation", "server", "requests/s", "p99", "processor time", "of handwritten", "of constant", "of dressed"}}
	for _, f := range l {
		rows = append(rows, []string{
			f.Operation, f.Server, fmt.Sprintf("%.0f", f.PerSecond),
			fmt.Sprint(time.Duration(f.P99Micros) * time.Microsecond), fmt.Sprintf("%.1f µs", f.CPUMicros),
			ratio(l.Ratio(f, "handwritten")), ratio(l.Ratio(f, "constant")), ratio(l.Ratio(f, "dressed")),
		})
	}
	return table(rows)
}

// Table returns the figures as a table of Markdown.
func (s Scale) Table() string {
	rows := [][]string{{"median time of an answer", "1,000 pets", fmt.Sprintf("%d pets", s.Pets), "ratio"}}
	for _, q := range s.Questions {
		rows = append(rows, []string{
			q.Name, fmt.Sprintf("%d µs", q.FewMicros), fmt.Sprintf("%d µs", q.ManyMicros), ratio(float64(q.ManyMicros) / float64(q.FewMicros)),
		})
	}
	mib := func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	rows = append(rows,
		[]string{"start to first answer", "", fmt.Sprintf("%d ms", s.StartUpMillis), ""},
		[]string{"peak memory", "", mib(s.PeakMemory), ""},
		[]string{"size of the program", "", mib(s.ProgramSize), ""},
	)
	return table(rows)
}

func ratio(r float64) string {
	if r == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r)
}

// table lays rows out, the first of them the header; from the third column on
// there are numbers, which stand to the right.
func table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if isNumber(rows, i) {
				b.WriteString("| " + pad + cell + " ")
			} else {
				b.WriteString("| " + cell + pad + " ")
			}
		}
		b.WriteString("|\n")
	}
	line(rows[0])
	for i, w := range widths {
		if isNumber(rows, i) {
			b.WriteString("|" + strings.Repeat("-", w+1) + ":")
		} else {
			b.WriteString("|" + strings.Repeat("-", w+2))
		}
	}
	b.WriteString("|\n")
	for _, row := range rows[1:] {
		line(row)
	}
	return b.String()
}

func isNumber(rows [][]string, column int) bool {
	cell := rows[1][column]
	return cell != "" && cell[0] >= '0' && cell[0] <= '9'
}

// Write writes figures to a file as JSON; with no path it does nothing.
func Write(path string, figures any) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// Read reads figures from a file.
func Read(path string, figures any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, figures)
}
