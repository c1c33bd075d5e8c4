package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The width of -h: that of the terminal up to maxHelp, beyond which lines are hard to
// read, and usualHelp where there is no terminal.
const (
	usualHelp = 80
	maxHelp   = 100
)

// fitHelp has -h of every command fit so many columns; 0 where there is no terminal.
func fitHelp(root *cobra.Command, columns int) {
	if columns <= 0 {
		columns = usualHelp
	}
	columns = min(columns, maxHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStdout(), usage(cmd, columns))
		return err
	})
	wrapLong(root, columns)
}

// wrapLong also has flags stay in the order in which a command adds them.
func wrapLong(cmd *cobra.Command, columns int) {
	cmd.Flags().SortFlags = false
	cmd.Long = wrap(cmd.Long, "", columns)
	for _, sub := range cmd.Commands() {
		wrapLong(sub, columns)
	}
}

// usage returns the part of -h behind the description. Unlike the table of pflag it
// has each flag on a line of its own, which leaves room for the text in a narrow
// terminal.
func usage(cmd *cobra.Command, columns int) string {
	var b strings.Builder
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	} else {
		fmt.Fprintf(&b, "Usage:\n  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			fmt.Fprintf(&b, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
		}
	}
	b.WriteString("\nFlags:\n")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { describeFlag(&b, f, columns) })
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND -h tells more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

func describeFlag(b *strings.Builder, f *pflag.Flag, columns int) {
	value, text := pflag.UnquoteUsage(f)
	if value := shownDefault(f); value != "" {
		text += " (default " + value + ")"
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	fmt.Fprintf(b, "  %s\n%s\n", strings.TrimSpace(name+" "+value), wrap(text, "      ", columns))
}

// shownDefault returns the default of a flag where it is worth telling.
func shownDefault(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) {
		return ""
	}
	return f.DefValue
}

// wrap breaks the lines of text anew, and indents them. A line that begins with a
// space stays as it is.
func wrap(text, indent string, columns int) string {
	var lines []string
	filling := false // whether the last line may get more words
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
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
