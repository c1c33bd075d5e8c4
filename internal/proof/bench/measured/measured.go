// Package measured holds the figures that the programs of internal/proof/bench
// measured, as files and as tables. The files beside it are written by the
// targets `make bench…`; `make bench-report` makes the tables and charts of
// internal/proof/bench/README.md and deploy/README.md from them.
package measured

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// Loopback is the figures of all servers over the loopback interface.
type Loopback []Figure

// Figure is one server with one operation: the spread of its rounds.
type Figure struct {
	Server     string `json:"server"`
	Operation  string `json:"operation"`
	CPUMicros  Spread `json:"cpu_us"` // processor time of the server, a request
	PerSecond  Spread `json:"per_second"`
	P99Micros  Spread `json:"p99_us"`
	OfEquipped Spread `json:"of_equipped"` // processor time of the equipped peer in the same round over this server's
	MeanBatch  Spread `json:"mean_batch"`  // creates that share a commit; zero where there are no commits
	OverMemory Spread `json:"over_memory"` // µs of processor time beyond that on memory in the same round; zero where it is not measured
	OfMetrics  Spread `json:"of_metrics"`  // processor time with metrics over this server's in the same round; zero where it is not measured
}

// Table returns the figures as a table of Markdown, which reads well on a
// terminal too.
func (l Loopback) Table() string {
	rows := [][]string{{"operation", "server", "processor time, µs", "cost of equipped over it", "requests/s", "p99, ms", "mean batch"}}
	for _, f := range l {
		p99 := Spread{f.P99Micros.Median / 1000, f.P99Micros.Low / 1000, f.P99Micros.High / 1000}
		rows = append(rows, []string{
			f.Operation, f.Server, f.CPUMicros.format(1), f.OfEquipped.format(2),
			f.PerSecond.format(0), p99.format(1), f.MeanBatch.format(0),
		})
	}
	text := table(rows)
	for _, f := range l {
		if o := f.OverMemory; o != (Spread{}) {
			text += fmt.Sprintf("\nA %s of %s takes %s µs of processor time more than one on memory.\n", f.Operation, f.Server, o.format(1))
		}
		if m := f.OfMetrics; m != (Spread{}) {
			text += fmt.Sprintf("\nWith metrics on, scraped each second, a %s of %s takes %s times the processor time.\n", f.Operation, f.Server, m.format(3))
		}
	}
	return text
}

// Scale is the figures of a small and a large database.
type Scale struct {
	FewPets       int        `json:"few_pets"`
	ManyPets      int        `json:"many_pets"`
	FirstTime     []Question `json:"first_time"` // each request asked once, in a fresh process
	Remembered    []Question `json:"remembered"` // a hundred requests asked again and again
	StartUpMillis int64      `json:"start_up_ms"`
	PeakMemory    int64      `json:"peak_memory_bytes"`
	ProgramSize   int64      `json:"program_bytes"`
	FileSize      int64      `json:"file_bytes"` // of the large database
}

// Question is the processor time of a request with either database.
type Question struct {
	Name       string `json:"name"`
	FewMicros  Spread `json:"few_us"`
	ManyMicros Spread `json:"many_us"`
	Ratio      Spread `json:"ratio"` // many over few, within a round
}

// Table returns the figures as a table of Markdown.
func (s Scale) Table() string {
	rows := [][]string{{"processor time of a request, µs", fmt.Sprintf("%d pets", s.FewPets), fmt.Sprintf("%d pets", s.ManyPets), "ratio"}}
	add := func(group string, questions []Question) {
		for _, q := range questions {
			rows = append(rows, []string{group + q.Name, q.FewMicros.format(1), q.ManyMicros.format(1), q.Ratio.format(2)})
		}
	}
	add("read from the file: ", s.FirstTime)
	add("remembered: ", s.Remembered)
	return table(rows) + fmt.Sprintf("\nWith %d pets the first response comes %d ms after the start, the peak of memory is\n%s, the file %s; the program is %s.\n",
		s.ManyPets, s.StartUpMillis, mebibytes(s.PeakMemory), mebibytes(s.FileSize), mebibytes(s.ProgramSize))
}

// Import is the figures of a million pets imported into SQLite.
type Import struct {
	Pets       int     `json:"pets"`
	CPUSeconds float64 `json:"cpu_s"`
	Seconds    float64 `json:"wall_s"`
	PeakMemory int64   `json:"peak_memory_bytes"`
	FileSize   int64   `json:"file_bytes"`
}

// Table returns the figures as a table of Markdown.
func (i Import) Table() string {
	return table([][]string{
		{"pets", "processor time, s", "time, s", "peak memory", "size of the file", "bytes a pet"},
		{
			fmt.Sprint(i.Pets), fmt.Sprintf("%.1f", i.CPUSeconds), fmt.Sprintf("%.1f", i.Seconds),
			mebibytes(i.PeakMemory), mebibytes(i.FileSize), fmt.Sprint(i.FileSize / int64(max(1, i.Pets))),
		},
	})
}

// Commits is the creates a second of clients that share commits, with an fsync
// of 2 ms.
type Commits struct {
	Clients   int     `json:"clients"`
	PerSecond float64 `json:"per_second"`
}

// CommitsTable returns the figures as a table of Markdown.
func CommitsTable(all []Commits) string {
	rows := [][]string{{"clients", "creates/s", "of one client"}}
	for _, c := range all {
		rows = append(rows, []string{fmt.Sprint(c.Clients), fmt.Sprintf("%.0f", c.PerSecond), ratio(c.PerSecond / all[0].PerSecond)})
	}
	return table(rows)
}

// Versus is one operation on one PostgreSQL server: pgbench, the store and the
// service with the same statements, and the ratios to pgbench within a round.
type Versus struct {
	Operation string `json:"operation"`
	PgBench   Spread `json:"pgbench_per_second"`
	Store     Spread `json:"store_per_second"`
	OfStore   Spread `json:"store_of_pgbench"`
	HTTP      Spread `json:"http_per_second"`
	OfHTTP    Spread `json:"http_of_pgbench"`
	CPUMicros Spread `json:"http_cpu_us"` // processor time of the service, a request
}

// VersusTable returns the figures as a table of Markdown.
func VersusTable(all []Versus) string {
	rows := [][]string{{"operation", "pgbench/s", "store calls/s", "of pgbench", "service requests/s", "of pgbench", "service's processor time, µs"}}
	for _, v := range all {
		rows = append(rows, []string{
			v.Operation, v.PgBench.format(0), v.Store.format(0), v.OfStore.format(2),
			v.HTTP.format(0), v.OfHTTP.format(2), v.CPUMicros.format(1),
		})
	}
	return table(rows)
}

// Attack is how much harm one attack does.
type Attack struct {
	Name   string `json:"name"`
	Before string `json:"before"` // seen before its defence
	Now    string `json:"now"`
}

// AttackTable returns the figures as a table of Markdown.
func AttackTable(all []Attack) string {
	rows := [][]string{{"attack", "seen before its defence", "now"}, {"---", "---", "---"}}
	for _, a := range all {
		rows = append(rows, []string{a.Name, a.Before, a.Now})
	}
	return lines(rows, "") // of sentences, which no padding helps
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func ratio(r float64) string { return fmt.Sprintf("%.2f", r) }

// table lays rows out in columns, the first of them the header. Columns of numbers
// stand to the right where Markdown is shown.
func table(rows [][]string) string {
	rule := make([]string, len(rows[0]))
	for i := range rule {
		if rule[i] = "---"; isNumber(rows, i) {
			rule[i] = "--:"
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 0, ' ', 0)
	_, _ = w.Write([]byte(lines(slices.Insert(slices.Clone(rows), 1, rule), "\t"))) // the builder takes everything
	_ = w.Flush()
	return b.String()
}

// lines returns rows in the form of Markdown, with end after each cell.
func lines(rows [][]string, end string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, end+" | ") + end + " |\n")
	}
	return b.String()
}

func isNumber(rows [][]string, column int) bool {
	for _, row := range rows[1:] {
		if cell := row[column]; cell != "" {
			return cell[0] >= '0' && cell[0] <= '9'
		}
	}
	return false
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
