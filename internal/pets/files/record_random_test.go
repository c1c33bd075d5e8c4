//go:build !race

package files

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestARecordIsReadBackAsItWas holds 200,000 random records of all characters that
// mean something to CSV. encoding/csv alone would lose carriage returns.
func TestARecordIsReadBackAsItWas(t *testing.T) {
	pieces := []string{"\r\n", "\r", "\n", `"`, `""`, ",", "a", "é", " ", ";", "\r\r\n", "x\r"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var file strings.Builder
		var want [][]string
		var lines []int
		for range 10 {
			lines = append(lines, 1+strings.Count(file.String(), "\n"))
			var record, texts []string
			for range 1 + random.IntN(4) {
				field := ""
				for range random.IntN(5) {
					field += pieces[random.IntN(len(pieces))]
				}
				record = append(record, field)
				if random.IntN(3) == 0 && !strings.ContainsAny(field, "\",\r\n") {
					texts = append(texts, field) // which needs no quotes
				} else {
					texts = append(texts, quoteCSV(field))
				}
			}
			want = append(want, record)
			file.WriteString(strings.Join(texts, ",") + []string{"\n", "\r\n"}[random.IntN(2)])
		}
		got, at := recordsOf(t, strings.NewReader(file.String()))
		if !slices.EqualFunc(got, want, slices.Equal) || !slices.Equal(at, lines) {
			t.Fatalf("%q: got %q on the lines %v, want %q on %v", file.String(), got, at, want, lines)
		}
	}
}
