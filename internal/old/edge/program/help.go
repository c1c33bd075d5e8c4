package program

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// The width of help texts: that of the terminal up to maxHelp, beyond which lines are
// hard to read, and usualHelp where there is no terminal.
const (
	usualHelp = 80
	maxHelp   = 100
)

// Help returns the flags as -h shows them in a terminal of so many columns; 0 where
// there is none. Unlike in the table of pflag, the text of a flag has lines of its own,
// which leaves room for it in a narrow terminal.
func Help(flags *pflag.FlagSet, columns int) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		value, text := pflag.UnquoteUsage(f)
		if value := Default(f); value != "" {
			text += " (default " + value + ")"
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, "  %s\n%s\n", strings.TrimSpace(name+" "+value), Wrap(text, "      ", columns))
	})
	return b.String()
}

// Default returns the default of a flag where it is worth telling, else "".
func Default(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) {
		return ""
	}
	return f.DefValue
}

// Wrap breaks the lines of text anew for a terminal of so many columns, 0 where there
// is none, and indents them. A line that begins with a space or a tab, such as a
// command, stays as it is.
func Wrap(text, indent string, columns int) string {
	if columns <= 0 {
		columns = usualHelp
	}
	columns = min(columns, maxHelp)
	var lines []string
	filling := false // whether the last line may get more words
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			lines, filling = append(lines, line), false
			continue
		}
		for word := range strings.FieldsSeq(line) {
			last := len(lines) - 1
			if filling && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= columns {
				lines[last] += " " + word
			} else {
				lines, filling = append(lines, indent+word), true
			}
		}
	}
	return strings.Join(lines, "\n")
}
