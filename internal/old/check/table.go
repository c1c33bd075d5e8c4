package check

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"
)

// The marks of the verdicts, which need no colour to be told apart, and their
// colours at a terminal. below introduces the right column where it has no room.
var marks = map[Verdict]struct{ text, colour, below string }{
	Holds:     {"ok  ", "\x1b[32m", ""},
	Fails:     {"FAIL", "\x1b[1;31m", "see "},
	Unchecked: {"-   ", "\x1b[2m", "why "},
}

// wide is how many columns the table takes with its right column. In a narrower
// terminal, rules that fail or are not checked have the right column below them. Rules
// that hold go without it; --json has it.
const wide = 92

// Table prints the rules of a check as they are judged. Rules that are not checked for
// the same reason are kept back, and told as one if they are many.
type Table struct {
	out     *bufio.Writer
	options TableOptions
	width   int // of the longest title
	group   string
	kept    []Result
}

// TableOptions say how a Table looks.
type TableOptions struct {
	Columns  int // the width of the terminal; 0 where there is none
	Colours  bool
	Failures bool // only the rules that do not hold are printed
}

// NewTable returns a table on out, below a line that names the server.
func NewTable(out io.Writer, cfg Config, options TableOptions) *Table {
	t := &Table{out: bufio.NewWriter(out), options: options}
	for _, r := range Rules() {
		t.width = max(t.width, utf8.RuneCountInString(r.Title))
	}
	how := "reading only; --write checks the rest"
	if cfg.Write {
		how = "adding animals"
	}
	fmt.Fprintf(t.out, "Checking %s, %s.\n", cfg.Base, how)
	_ = t.out.Flush() // an error comes back from End
	return t
}

// Rule prints a rule; Config.Report calls it.
func (t *Table) Rule(r Result) {
	if t.options.Failures && r.Verdict != Fails {
		return
	}
	if len(t.kept) > 0 && (r.Verdict != Unchecked || r.Why != t.kept[0].Why || r.Group != t.kept[0].Group) {
		t.flush()
	}
	if r.Verdict == Unchecked {
		t.kept = append(t.kept, r)
		return
	}
	t.heading(r.Group)
	t.line(r.Verdict, r.Title, r.Source)
	if r.Verdict == Fails {
		t.detail("got ", r.Got)
		t.detail("want", r.Want)
		t.detail("try ", r.Curl)
	}
	_ = t.out.Flush() // an error comes back from End
}

// flush prints the rules kept back.
func (t *Table) flush() {
	const many = 3
	if len(t.kept) == 0 {
		return
	}
	t.heading(t.kept[0].Group)
	if len(t.kept) >= many {
		t.line(Unchecked, fmt.Sprintf("%d rules not checked", len(t.kept)), t.kept[0].Why)
	} else {
		for _, r := range t.kept {
			t.line(r.Verdict, r.Title, r.Why)
		}
	}
	t.kept = nil
}

func (t *Table) heading(group string) {
	if group != t.group {
		fmt.Fprintf(t.out, "\n%s\n", group)
		t.group = group
	}
}

func (t *Table) line(v Verdict, title, right string) {
	mark := marks[v].text
	if t.options.Colours {
		mark = marks[v].colour + mark + "\x1b[0m"
	}
	if t.options.Columns == 0 || t.options.Columns >= wide {
		fmt.Fprintf(t.out, "  %s  %-*s  %s\n", mark, t.width, title, right)
		return
	}
	fmt.Fprintf(t.out, "  %s  %s\n", mark, title)
	if below := marks[v].below; below != "" {
		t.detail(below, right)
	}
}

func (t *Table) detail(name, text string) { fmt.Fprintf(t.out, "        %s  %s\n", name, text) }

// End prints the summary. It returns the first error of printing.
func (t *Table) End(report Report) error {
	t.flush()
	fmt.Fprintf(t.out, "\n%d hold, %d do not, %d not checked; %d requests.\n",
		report.Count(Holds), report.Count(Fails), report.Count(Unchecked), report.Requests)
	if report.Left > 0 {
		fmt.Fprintf(t.out, "Animals left behind: %d; the names of all but one hold %q.\n", report.Left, report.Mark)
	}
	return t.out.Flush()
}
