package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
)

func backupCommand(env environment) *cobra.Command {
	u := upkeep{env: env, out: env.stderr, doing: "copying"}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a snapshot of an SQLite store to a file",
		Long: `backup writes the store as it is at one moment to FILE: animals, API keys and
idempotency keys. Servers may go on writing. FILE gets its name only when it is
complete, checked and on disk; its mode is 0600. "petstore restore" brings it
back.

The copy holds every animal that was acknowledged before it began. Meanwhile the
log beside the store grows by what servers write.`,
		Example: `  petstore backup petstore-$(date +%F).db
  petstore backup --store sqlite:/var/lib/petstore/pets.db \
    /mnt/backup/pets.db --force`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.file, u.result = args[0], "backed up to "+args[0]
			return u.run(cmd.Context(), func(ctx context.Context, path string, progress func(done, total int64)) (sqlite.Report, error) {
				return sqlite.Backup(ctx, path, u.file, u.force, progress)
			})
		},
	}
	u.addFlags(cmd)
	cmd.Flags().BoolVar(&u.force, "force", false, "replace FILE if it exists")
	return cmd
}

func restoreCommand(env environment) *cobra.Command {
	u := upkeep{env: env, out: env.stderr, doing: "copying"}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of an SQLite store",
		Long: `restore replaces the store by a copy of FILE, which "petstore backup" wrote, or
makes the store if there is none. FILE stays as it is.

The copy is made beside the store and checked first. Nothing is changed while a
server uses the store: stop it first. A store with animals is replaced only with
--force. Whatever fails, the store is the old one or the new one, and complete.`,
		Example: `  petstore restore petstore-2026-11-21.db
  petstore restore --store sqlite:/var/lib/petstore/pets.db \
    --force /mnt/backup/pets.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.file, u.result = args[0], "restored "+store.Redact(u.address)
			return u.run(cmd.Context(), func(ctx context.Context, path string, progress func(done, total int64)) (sqlite.Report, error) {
				return sqlite.Restore(ctx, path, u.file, u.force, progress)
			})
		},
	}
	u.addFlags(cmd)
	cmd.Flags().BoolVar(&u.force, "force", false, "replace a store that holds animals, or cannot be read")
	return cmd
}

func verifyCommand(env environment) *cobra.Command {
	u := upkeep{env: env, out: env.stdout, doing: "reading"}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Look for damage in an SQLite store",
		Long: `verify reads all of the store and changes nothing. It prints the version of the
schema and how many animals and keys there are. If the store is damaged, it says
how, in SQLite's words, and the exit status is 1. It may run beside servers, and
on a backup: --store sqlite:FILE.`,
		Example: `  petstore verify
  petstore verify --store sqlite:petstore-2026-11-21.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.result = "no damage was found in " + store.Redact(u.address)
			return u.run(cmd.Context(), sqlite.Verify)
		},
	}
	u.addFlags(cmd)
	return cmd
}

// upkeep is a command that reads or writes a whole SQLite file.
type upkeep struct {
	env           environment
	address, file string
	force, asJSON bool
	doing, result string    // what is said during the work, and after it
	out           io.Writer // for the result
}

func (u *upkeep) addFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	addStoreFlag(cmd.Flags(), &u.address)
	addJSONFlag(cmd.Flags(), &u.asJSON)
}

func (u *upkeep) run(ctx context.Context, f func(ctx context.Context, path string, progress func(done, total int64)) (sqlite.Report, error)) error {
	path, ok := store.SQLitePath(u.address)
	switch {
	case store.Kind(u.address) == "memory":
		return errMemory
	case !ok:
		return errors.New("PostgreSQL has its own tools for this, such as pg_basebackup, pg_dump and pg_amcheck; deploy/README.md shows how")
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	p := newProgress(u.env, u.doing)
	r, err := f(ctx, path, p.reach)
	p.end()
	if err != nil && ctx.Err() != nil {
		return interrupted(ctx, "interrupted; nothing was changed")
	}
	if u.asJSON && (err == nil || len(r.Problems) > 0) {
		r.Problems = append([]string{}, r.Problems...) // [] and not null
		return errors.Join(err, printJSON(u.env.stdout, struct {
			Store string `json:"store"`
			sqlite.Report
		}{store.Redact(u.address), r}))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(u.out, "%s: schema version %d, %s, %s, %.1f MiB\n", printable(u.result), r.Schema,
		counted(r.Pets, "animal"), counted(r.Keys, "key"), float64(r.Bytes)/(1<<20))
	return err
}
