package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// rootCommand returns the command petstore. Errors before parsed is called are
// errors of the command line.
func rootCommand(env environment, parsed func()) *cobra.Command {
	root := &cobra.Command{
		Use:   "petstore",
		Short: "A catalogue of animals over HTTP",
		Long: `petstore is a catalogue of animals over HTTP: list them, add one, fetch one.

Start it with "petstore serve" and make an API key with "petstore keys create".
Most flags can also be set by an environment variable, which -h of each command
names.

Exit status:
    0    done; a server ended as it was told to
    1    it failed and said why
    2    the command line or a variable makes no sense
    130  interrupted (SIGINT, Ctrl-C)
    143  terminated (SIGTERM)`,
		Version:       programVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := checkFlags(cmd.Flags(), env.getenv)
			if err == nil {
				parsed()
			}
			return err
		},
	}
	root.AddCommand(serveCommand(env), keysCommand(env), importCommand(env), exportCommand(env), backupCommand(env),
		restoreCommand(env), verifyCommand(env), healthCommand(), versionCommand(env))
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetVersionTemplate(versionLine())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	describeVariables(root)
	return root
}
