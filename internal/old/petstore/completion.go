package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/old/edge/program"
)

// addCompletion adds cobra's own command, which takes no variables. It remembers
// where root writes to.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd("completion")
	cmd, _, _ := root.Find([]string{"completion"})
	cmd.Short = "Print the completions of a shell"
	cmd.Long = cmd.Short + ". -h of each shell says how it reads them."
	cmd.Args, cmd.RunE = unknownCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range cmd.Commands() {
		shell.Short = "For " + shell.Name()
		shell.Args = exactly(0, "")
	}
}

// completeValues has shells offer the values of flags, and names of files only where
// -h says FILE, or file for a flag's value.
func completeValues(cmd *cobra.Command) {
	if !strings.Contains(cmd.Use, "FILE") && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if name, _ := pflag.UnquoteUsage(f); name == "file" || f.Value.Type() == "bool" {
			return
		}
		var words []string
		if j, ok := f.Value.(program.Judged); ok {
			words = j.Words
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if f.Name == "store" {
			directive |= cobra.ShellCompDirectiveNoSpace // a path or a host follows
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, directive)) // fails where there is no such flag, or it was called twice
	})
}
