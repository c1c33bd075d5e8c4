package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge/program"
)

// fitHelp has -h of every command fit so many columns; 0 where there is no terminal.
func fitHelp(root *cobra.Command, columns int) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStdout(), usage(cmd, columns))
		return err
	})
	everyCommand(root, func(cmd *cobra.Command) { cmd.Long = program.Wrap(cmd.Long, "", columns) })
}

// usage returns the part of -h behind the description.
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
	b.WriteString("\nFlags:\n" + program.Help(cmd.LocalFlags(), columns))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND -h tells more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// everyCommand calls f with cmd and every command below it.
func everyCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		everyCommand(sub, f)
	}
}
