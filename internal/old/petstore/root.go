package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets/store"
)

func rootCommand(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "petstore",
		Short: "A catalogue of animals over HTTP",
		Long: `petstore is a catalogue of animals over HTTP: list them, add one, fetch one.

Start it with "petstore serve", make an API key with "petstore keys create".
Most flags can also be set by a variable; -h of each command names them. "petstore
completion -h" says how your shell completes commands and flags.

Exit status:
      0  done; a server ended as it was told to
      1  it failed, and said why
      2  the command line or a variable makes no sense,
         or a check could not be made
    130  interrupted (SIGINT, Ctrl-C)
    143  ended from outside (SIGTERM)`,
		Version:       programVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Name() != "serve" { // whose log has them
				for _, m := range misspelt(env, cmd) {
					fmt.Fprintf(env.stderr, "petstore: the variable %s may be misspelt, perhaps %s\n", visible(m.Name), m.Meant)
				}
			}
			return variables.Set(cmd.Flags(), env.getenv)
		},
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return program.Misuse("%w; see %s -h", program.FlagError(cmd.Flags(), err), cmd.CommandPath())
	})
	root.AddCommand(serveCommand(env), keysCommand(env), importCommand(env), exportCommand(env), backupCommand(env), restoreCommand(env), verifyCommand(env), checkCommand(env), healthCommand(), versionCommand(), describeCommand())
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetVersionTemplate(versionLine())
	everyCommand(root, func(cmd *cobra.Command) {
		cmd.Flags().SortFlags = false // they stay in the order in which a command adds them
		variables.Describe(cmd.LocalFlags())
	})
	addHelp(root)
	addCompletion(root) // whose flags have no variables
	fitHelp(root, env.columns)
	everyCommand(root, completeValues)
	return root
}

// addHelp adds cobra's own command, which has to refuse the name of no command.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run, help.RunE = nil, func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil {
			err = unknownCommand(cmd, rest)
		}
		if err != nil {
			return err
		}
		return cmd.Help()
	}
}

// unknownCommand refuses arguments of a command that only has subcommands.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters that differ
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return program.Misuse("unknown command %q; did you mean %s? See %s -h", args[0], strings.Join(like, " or "), cmd.CommandPath())
	}
	return program.Misuse("unknown command %q; see %s -h", args[0], cmd.CommandPath())
}

// exactly wants n arguments, which usage names.
func exactly(n int, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return program.Misuse("usage: %s%s; see %s -h", cmd.CommandPath(), usage, cmd.CommandPath())
	}
}

// notifyOn has a store write its notices for the operator to stderr.
func notifyOn(stderr io.Writer) store.Option {
	say := func(message string) { fmt.Fprintln(stderr, "petstore: "+visible(message)) }
	return store.Notify(func(path string) { say("made a new store, " + path) }, say)
}
