package main

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"example.com/petstore/internal/proof/bench/measured"
)

// bar is one line of a chart.
type bar struct {
	group, label, text string
	value              float64
	ours               bool
}

// chart draws bars, longest at full width, under a heading for each group. Its
// colours follow the reader's scheme.
func chart(title string, bars []bar) string {
	const width, left, right, step = 760, 190, 90, 20
	most := slices.MaxFunc(bars, func(a, b bar) int { return int(a.value - b.value) }).value
	var body strings.Builder
	y, group := 34, ""
	for _, b := range bars {
		if b.group != group {
			group = b.group
			y += 14
			fmt.Fprintf(&body, "<text class=\"g\" x=\"8\" y=\"%d\">%s</text>\n", y+4, html.EscapeString(group))
			y += step
		}
		class := "peer"
		if b.ours {
			class = "ours"
		}
		length := b.value / most * (width - left - right)
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-8, y+4, html.EscapeString(b.label))
		fmt.Fprintf(&body, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"13\" rx=\"2\"/>\n", class, left, y-7, length)
		fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", left+length+6, y+4, html.EscapeString(b.text))
		y += step
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">
<style>
text { font: 12px system-ui, sans-serif; fill: #444 }
.t { font-size: 14px; font-weight: 600; fill: #222 } .g { font-weight: 600 }
.ours { fill: #2f7d4f } .peer { fill: #a9b4bd }
@media (prefers-color-scheme: dark) { text { fill: #bbb } .t { fill: #eee } .ours { fill: #4caf7a } .peer { fill: #5d6872 } }
</style>
<text class="t" x="8" y="20">%s</text>
%s</svg>
`, width, y+4, html.EscapeString(title), html.EscapeString(title), body.String())
}

func loopbackChart(l measured.Loopback) string {
	var bars []bar
	for _, f := range l {
		bars = append(bars, bar{
			group: f.Operation, label: f.Server, text: fmt.Sprintf("%.1f µs", f.CPUMicros.Median),
			value: f.CPUMicros.Median, ours: strings.HasPrefix(f.Server, "petstore"),
		})
	}
	return chart("Processor time of the server, a request (shorter is better)", bars)
}
