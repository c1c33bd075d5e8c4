package bench

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// table has the requests per second of servers by operation, a figure per round.
type table struct {
	servers    []string
	operations []string
	rates      map[string][]float64 // by operation and server
}

func (t *table) add(operation, server string, rate float64) {
	if t.rates == nil {
		t.rates = map[string][]float64{}
	}
	if !slices.Contains(t.operations, operation) {
		t.operations = append(t.operations, operation)
	}
	t.rates[operation+server] = append(t.rates[operation+server], rate)
}

// write writes the table to its place on the page, with the rates of each server divided
// by those of the first in the same round.
func (t *table) write(b *testing.B, place string) {
	info, _ := os.ReadFile("/proc/cpuinfo")
	processors := regexp.MustCompile(`model name\s*: (.*)`).FindAllSubmatch(info, -1)
	load, _ := os.ReadFile("/proc/loadavg")
	var text strings.Builder
	fmt.Fprintf(&text, "%s. %d × %s, %s, load average %s. %d rounds.\n\n", time.Now().Format(time.DateOnly), len(processors), processors[0][1],
		runtime.Version(), strings.Fields(string(load))[0], len(t.rates[t.operations[0]+t.servers[0]]))
	first := t.servers[0]
	fmt.Fprintf(&text, "| requests per second | %s |", first)
	for _, s := range t.servers[1:] {
		fmt.Fprintf(&text, " %s | ÷ %s |", s, first)
	}
	fmt.Fprintf(&text, "\n| --- |%s\n", strings.Repeat(" --: |", 2*len(t.servers)-1))
	for _, o := range t.operations {
		fmt.Fprintf(&text, "| %s | %s |", o, spread(t.rates[o+first], "%.0f"))
		for _, s := range t.servers[1:] {
			ratios := slices.Clone(t.rates[o+s])
			for i := range ratios {
				ratios[i] /= t.rates[o+first][i]
			}
			fmt.Fprintf(&text, " %s | %s |", spread(t.rates[o+s], "%.0f"), spread(ratios, "%.1f"))
		}
		text.WriteString("\n")
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		b.Fatal(err)
	}
	old := regexp.MustCompile("(?s)(<!-- measured: " + place + " -->\n).*?(<!-- end -->)")
	if err := os.WriteFile("README.md", old.ReplaceAll(page, []byte("${1}"+text.String()+"\n${2}")), 0o644); err != nil {
		b.Fatal(err)
	}
}

// spread returns the median of values, the lowest and the highest.
func spread(values []float64, format string) string {
	sorted := slices.Sorted(slices.Values(values))
	median := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return fmt.Sprintf(format+" ("+format+"–"+format+")", median, sorted[0], sorted[len(sorted)-1])
}
