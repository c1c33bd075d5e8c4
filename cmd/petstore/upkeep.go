package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
)

// upkeepConfig is the configuration of a command on a whole SQLite file.
type upkeepConfig struct {
	store         string
	force, asJSON bool
}

func backupCommand(env environment) *cobra.Command {
	var cfg upkeepConfig
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a snapshot of an SQLite store to a file",
		Long: `backup writes a consistent snapshot of the store, including its keys, to FILE.
Servers may keep writing. FILE appears only when it is complete, checked and on
disk.`,
		Example: `  petstore backup petstore-$(date +%F).db
  petstore backup --store sqlite:/srv/pets.db --force /mnt/pets.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := cfg.run(cmd.Context(), env, func(ctx context.Context, path string) (sqlite.Report, error) {
				return sqlite.Backup(ctx, path, args[0], cfg.force)
			})
			return cfg.print(env, env.stderr, "backed up", r, err)
		},
	}
	addStoreFlag(cmd.Flags(), &cfg.store)
	addJSONFlag(cmd.Flags(), &cfg.asJSON)
	cmd.Flags().BoolVar(&cfg.force, "force", false, "replace FILE if it exists")
	return cmd
}

func restoreCommand(env environment) *cobra.Command {
	var cfg upkeepConfig
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace an SQLite store with a backup",
		Long: `restore replaces the store, or creates it, with a copy of FILE, a backup made by
"petstore backup". Stop servers first. The copy is checked before anything changes:
if anything fails, you have either the old store or the new one.`,
		Example: `  petstore restore petstore-2026-11-21.db
  petstore restore --store sqlite:/srv/pets.db --force /mnt/pets.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := cfg.run(cmd.Context(), env, func(ctx context.Context, path string) (sqlite.Report, error) {
				return sqlite.Restore(ctx, path, args[0], cfg.force)
			})
			return cfg.print(env, env.stderr, "restored", r, err)
		},
	}
	addStoreFlag(cmd.Flags(), &cfg.store)
	addJSONFlag(cmd.Flags(), &cfg.asJSON)
	cmd.Flags().BoolVar(&cfg.force, "force", false, "replace a store even if it holds pets or keys or cannot be read")
	return cmd
}

func verifyCommand(env environment) *cobra.Command {
	var cfg upkeepConfig
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check an SQLite store for damage",
		Long: `verify reads a whole store or backup and changes no pets. Servers may keep
running. If there is damage, verify reports it, and the exit status is 1.`,
		Example: "  petstore verify --store sqlite:petstore-2026-11-21.db",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := cfg.run(cmd.Context(), env, sqlite.Verify)
			return cfg.print(env, env.stdout, "no damage was found in", r, err)
		},
	}
	addStoreFlag(cmd.Flags(), &cfg.store)
	addJSONFlag(cmd.Flags(), &cfg.asJSON)
	return cmd
}

// run calls work with the path of the store, and shows at a terminal that it goes on.
func (cfg upkeepConfig) run(ctx context.Context, env environment, work func(ctx context.Context, path string) (sqlite.Report, error)) (sqlite.Report, error) {
	path, ok := store.SQLitePath(cfg.store)
	if !ok {
		return sqlite.Report{}, errors.New("PostgreSQL has its own tools for this, such as pg_basebackup, pg_dump and pg_amcheck; see deploy/postgres.md")
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	go func() {
		began, show := time.Now(), progress(env)
		for ctx.Err() == nil {
			show("working for %v so far", time.Since(began).Round(time.Second))
			time.Sleep(time.Second)
		}
	}()
	r, err := work(ctx, path)
	if err == nil || ctx.Err() == nil {
		return r, advise(err, cfg.store)
	}
	if r.Path == "" && len(r.Problems) == 0 {
		err = errors.New("nothing was changed")
	}
	return r, fmt.Errorf("%w; %w", context.Cause(ctx), err)
}

// print prints the report as JSON, or what was done as a line to out. It returns err.
func (cfg upkeepConfig) print(env environment, out io.Writer, done string, r sqlite.Report, err error) error {
	address := store.Redact(cfg.store)
	if cfg.asJSON && (err == nil || len(r.Problems) > 0) {
		r.Problems = append([]string{}, r.Problems...) // [] instead of null
		return errors.Join(err, printed(done+" "+address, printJSON(env.stdout, struct {
			Store string `json:"store"`
			sqlite.Report
		}{address, r})))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s %s: schema version %d, %s, %s, %.1f MiB\n", done, printable(address), r.Schema,
		counted(r.Pets, "pet"), counted(r.Keys, "key"), float64(r.Bytes)/(1<<20))
	return err
}
