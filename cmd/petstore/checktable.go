package main

import (
	"bufio"
	"fmt"
	"unicode/utf8"

	"example.com/petstore/internal/check"
)

// The marks of the verdicts, which need no colour to be told apart, and their
// colours at a terminal.
var marks = map[check.Verdict]struct{ text, colour string }{
	check.Holds:     {"ok  ", "\x1b[32m"},
	check.Fails:     {"FAIL", "\x1b[1;31m"},
	check.Unchecked: {"-   ", "\x1b[2m"},
}

// table prints the rules of a check as they are judged. Rules that are not
// checked for the same reason are kept back, and told as one if they are many.
type table struct {
	out     *bufio.Writer
	colours bool
	failing bool // only the rules that do not hold are printed
	width   int  // of the longest title
	group   string
	kept    []check.Result
}

func newTable(env environment, cfg checkConfig) *table {
	t := &table{
		out:     bufio.NewWriter(env.stdout),
		failing: cfg.failures,
		colours: env.interactive && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb",
	}
	for _, r := range check.Rules() {
		t.width = max(t.width, utf8.RuneCountInString(r.Title))
	}
	if cfg.json {
		return t
	}
	how := "reading only; --write checks the rest"
	if cfg.Write {
		how = "adding animals"
	}
	fmt.Fprintf(t.out, "Checking %s, %s.\n", cfg.Base, how)
	_ = t.out.Flush() // an error comes back from end
	return t
}

func (t *table) rule(r check.Result) {
	if t.failing && r.Verdict != check.Fails {
		return
	}
	if len(t.kept) > 0 && (r.Verdict != check.Unchecked || r.Why != t.kept[0].Why || r.Group != t.kept[0].Group) {
		t.flush()
	}
	if r.Verdict == check.Unchecked {
		t.kept = append(t.kept, r)
		return
	}
	t.heading(r.Group)
	t.line(r.Verdict, r.Title, r.Source)
	if r.Verdict == check.Fails {
		for _, detail := range [][2]string{{"got ", r.Got}, {"want", r.Want}, {"try ", r.Curl}} {
			fmt.Fprintf(t.out, "        %s  %s\n", detail[0], detail[1])
		}
	}
	_ = t.out.Flush() // an error comes back from end
}

// flush prints the rules kept back.
func (t *table) flush() {
	const many = 3
	if len(t.kept) == 0 {
		return
	}
	t.heading(t.kept[0].Group)
	if len(t.kept) >= many {
		t.line(check.Unchecked, fmt.Sprintf("%d rules not checked", len(t.kept)), t.kept[0].Why)
	} else {
		for _, r := range t.kept {
			t.line(r.Verdict, r.Title, r.Why)
		}
	}
	t.kept = nil
}

func (t *table) heading(group string) {
	if group != t.group {
		fmt.Fprintf(t.out, "\n%s\n", group)
		t.group = group
	}
}

func (t *table) line(v check.Verdict, title, right string) {
	mark := marks[v].text
	if t.colours {
		mark = marks[v].colour + mark + "\x1b[0m"
	}
	fmt.Fprintf(t.out, "  %s  %-*s  %s\n", mark, t.width, title, right)
}

// end prints the summary.
func (t *table) end(report check.Report) error {
	t.flush()
	fmt.Fprintf(t.out, "\n%d hold, %d do not, %d not checked; %d requests.\n",
		report.Count(check.Holds), report.Count(check.Fails), report.Count(check.Unchecked), report.Requests)
	if report.Left > 0 {
		fmt.Fprintf(t.out, "Animals left behind: %d; the names of all but one hold %q.\n", report.Left, report.Mark)
	}
	return t.out.Flush()
}
