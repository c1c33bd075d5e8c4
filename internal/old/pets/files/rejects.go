package files

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Rejects writes rows that are not acceptable as CSV: the line on which the row
// begins, the reason, and the row's own text.
type Rejects struct{ out *bufio.Writer }

// NewRejects returns a writer of rejected rows.
func NewRejects(w io.Writer) *Rejects {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("line,reason,row\n") // an error comes back from Flush
	return &Rejects{out}
}

// Write writes one row, sooner or later.
func (r *Rejects) Write(row Row) error {
	_, err := r.out.WriteString(strconv.Itoa(row.Line) + "," + quoteCSV(row.Err.Error()) + "," + quoteCSV(row.Raw) + "\n")
	return err
}

// Flush writes the bytes that are held back.
func (r *Rejects) Flush() error { return r.out.Flush() }

func quoteCSV(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
