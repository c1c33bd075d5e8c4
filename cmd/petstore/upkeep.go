package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
)

// sqliteWork is an operation on a whole SQLite file.
type sqliteWork func(ctx context.Context, path, file string, force bool) (sqlite.Report, error)

func backupCommand(env environment) *cobra.Command {
	return upkeepCommand(env, env.stderr, sqlite.Backup, "backed up", "replace FILE if it exists", &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a snapshot of an SQLite store to a file",
		Long: `backup writes a consistent snapshot of the store, including its keys, to FILE.
Servers may keep writing. FILE appears only when it is complete, checked and on
disk.`,
		Example: `  petstore backup petstore-$(date +%F).db
  petstore backup --store sqlite:/srv/pets.db --force /mnt/pets.db`,
		Args: cobra.ExactArgs(1),
	})
}

func restoreCommand(env environment) *cobra.Command {
	return upkeepCommand(env, env.stderr, sqlite.Restore, "restored", "replace a store even if it holds pets or keys or cannot be read", &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace an SQLite store with a backup",
		Long: `restore replaces the store, or creates it, with a copy of FILE, a backup made by
"petstore backup". Stop servers first. The copy is checked before anything changes:
if anything fails, you have either the old store or the new one.`,
		Example: `  petstore restore petstore-2026-11-21.db
  petstore restore --store sqlite:/srv/pets.db --force /mnt/pets.db`,
		Args: cobra.ExactArgs(1),
	})
}

func verifyCommand(env environment) *cobra.Command {
	verify := func(ctx context.Context, path, _ string, _ bool) (sqlite.Report, error) {
		return sqlite.Verify(ctx, path)
	}
	return upkeepCommand(env, env.stdout, verify, "no damage was found in", "", &cobra.Command{
		Use:   "verify",
		Short: "Check an SQLite store for damage",
		Long: `verify reads a whole store or backup and changes no pets. Servers may keep
running. If there is damage, verify reports it, and the exit status is 1.`,
		Example: "  petstore verify --store sqlite:petstore-2026-11-21.db",
		Args:    cobra.NoArgs,
	})
}

// upkeepCommand completes cmd, which passes its argument, the name of a file, to
// work and then prints done and a summary of the store to out.
func upkeepCommand(env environment, out io.Writer, work sqliteWork, done, forceUsage string, cmd *cobra.Command) *cobra.Command {
	var address string
	var force, asJSON bool
	addStoreFlag(cmd.Flags(), &address)
	addJSONFlag(cmd.Flags(), &asJSON)
	if forceUsage != "" {
		cmd.Flags().BoolVar(&force, "force", false, forceUsage)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, ok := store.SQLitePath(address)
		if !ok {
			return errors.New("PostgreSQL has its own tools for this, such as pg_basebackup, pg_dump and pg_amcheck; see deploy/postgres.md")
		}
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		go func(began time.Time) { // a large file takes a while
			for show := progress(env); ctx.Err() == nil; time.Sleep(time.Second) {
				show("working for %v so far", time.Since(began).Round(time.Second))
			}
		}(time.Now())
		r, err := work(ctx, path, strings.Join(args, ""), force)
		err = advise(err, address)
		if err != nil && ctx.Err() != nil {
			if r.Path == "" && len(r.Problems) == 0 {
				err = errors.New("nothing was changed")
			}
			err = fmt.Errorf("%w; %w", context.Cause(ctx), err)
		}
		if asJSON && (err == nil || len(r.Problems) > 0) {
			r.Problems = append([]string{}, r.Problems...) // [] instead of null
			return cmp.Or(err, printed(done+" "+store.Redact(address), printJSON(env.stdout, struct {
				Store string `json:"store"`
				sqlite.Report
			}{store.Redact(address), r})))
		}
		if err == nil {
			_, err = fmt.Fprintf(out, "%s %s: schema version %d, %s, %s, %.1f MiB\n", done, printable(store.Redact(address)), r.Schema,
				counted(r.Pets, "pet"), counted(r.Keys, "key"), float64(r.Bytes)/(1<<20))
		}
		return err
	}
	return cmd
}
