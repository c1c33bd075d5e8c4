package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.com/petstore/engine/db"
	"example.com/petstore/internal/store/sqlite"
)

func init() { commands = append(commands, backupCommand, restoreCommand, verifyCommand) }

func backupCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a snapshot of an SQLite store to a file",
		Long: `backup writes a consistent snapshot of the store, including its keys, to FILE.
Servers may keep writing. FILE appears only when it is complete, checked and on
disk. If there is no store, backup fails.`,
		Example: "  petstore backup --store sqlite:/srv/pets.db petstore-$(date +%F).db",
		Args:    cobra.ExactArgs(1),
	}
	force := cmd.Flags().Bool("force", false, "replace FILE if it exists")
	return onFile(env, cmd, env.stderr, "backed up", func(file string) (db.Report, error) {
		return sqlite.Schema.Backup(cmd.Context(), env.store.Path(), file, *force)
	})
}

func restoreCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make an SQLite store from a backup",
		Long: `restore makes the store from FILE, a backup made by "petstore backup". It replaces
nothing: stop servers first and move the old store away, but never its -lock file.
The copy is checked: if restore fails, there is no store. New identifiers far exceed
the backup's.`,
		Example: `  mkdir old && mv /srv/pets.db /srv/pets.db-wal /srv/pets.db-shm old/
  petstore restore --store sqlite:/srv/pets.db petstore-2026-11-21.db`,
		Args: cobra.ExactArgs(1),
	}
	return onFile(env, cmd, env.stderr, "restored", func(file string) (db.Report, error) {
		return sqlite.Schema.Restore(cmd.Context(), env.store.Path(), file)
	})
}

func verifyCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check an SQLite store for damage",
		Long: `verify reads a whole store or backup, and changes no pets. Servers may keep
running. verify fails if there is damage or no store.`,
		Example: "  petstore verify --store sqlite:petstore-2026-11-21.db",
		Args:    cobra.NoArgs,
	}
	return onFile(env, cmd, env.stdout, "no damage was found in", func(string) (db.Report, error) {
		return sqlite.Schema.Verify(cmd.Context(), env.store.Path())
	})
}

// onFile completes a command that calls work with its argument, or "", and prints the report to out.
func onFile(
	env *environment, cmd *cobra.Command, out io.Writer, done string, work func(file string) (db.Report, error),
) *cobra.Command {
	cmd.RunE = func(*cobra.Command, []string) error {
		if env.store.Path() == "" {
			return fmt.Errorf("a %s store is not a file: back it up and restore it with the tools of its database", env.store.Name)
		}
		file := cmd.Flags().Arg(0)
		if err := refuseRoot(env, file); err != nil {
			return err
		}
		r, err := work(file)
		switch {
		case errors.Is(err, db.ErrNone): // without the advice to make a store
			return fmt.Errorf("%v; check the path, and that its volume is mounted", err)
		case errors.Is(err, db.ErrUnsynced): // it says what was done
			return err
		case err != nil:
			return fmt.Errorf("%w; nothing was changed", err)
		}
		if r.Altered != nil { // by a backup; other commands fail
			env.logger.Warn("restore will refuse this backup", "error", r.Altered)
		}
		rows := ""
		for _, n := range r.Rows {
			rows += fmt.Sprintf(", %s: %d", n.Table, n.Count)
			if n.LastID > 0 {
				rows += fmt.Sprintf(" (the next id is %d)", n.LastID+1)
			}
		}
		_, err = fmt.Fprintf(out, "%s %s: schema version %d%s, %.1f MiB\n",
			done, &env.store, r.Schema, rows, float64(r.Bytes)/(1<<20))
		return err
	}
	return onStore(env, cmd)
}
