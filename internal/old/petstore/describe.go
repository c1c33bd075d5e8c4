package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/old/edge/program"
)

// describeCommand prints all commands for the program that makes the man pages, whose
// libraries are none of the service's.
func describeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "describe",
		Short:  "Print all commands and their flags as JSON",
		Hidden: true,
		Args:   exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printJSON(cmd.OutOrStdout(), describe(cmd.Root()))
		},
	}
}

// commandJSON is a command as describe prints it.
type commandJSON struct {
	Use      string        `json:"use"`
	Short    string        `json:"short"`
	Long     string        `json:"long,omitempty"`
	Example  string        `json:"example,omitempty"`
	Flags    []flagJSON    `json:"flags"`
	Commands []commandJSON `json:"commands,omitempty"`
}

type flagJSON struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand,omitempty"`
	Value     string `json:"value,omitempty"` // the word for it
	Usage     string `json:"usage"`
	Default   string `json:"default,omitempty"`
}

func describe(cmd *cobra.Command) commandJSON {
	c := commandJSON{Use: cmd.Use, Short: cmd.Short, Long: cmd.Long, Example: cmd.Example, Flags: []flagJSON{}}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		c.Flags = append(c.Flags, flagJSON{Name: f.Name, Shorthand: f.Shorthand, Value: value, Usage: usage, Default: program.Default(f)})
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			c.Commands = append(c.Commands, describe(sub))
		}
	}
	return c
}
