package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/files"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
)

// exportConfig is the configuration of petstore export.
type exportConfig struct {
	store, file string // the file "-" is standard output
	format      files.Format
	force       bool
}

func exportCommand(env environment) *cobra.Command {
	cfg := exportConfig{file: "-"}
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all pets to a CSV or NDJSON file",
		Long: `export writes all pets to FILE, or to standard output if FILE is - or omitted.
Servers may keep writing; pets that they add meanwhile may be missing. FILE
appears only when it is complete. "petstore import --restore" restores it.`,
		Example: `  petstore export pets.csv
  petstore export --format ndjson | grep '"sold"'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				cfg.file = args[0]
			}
			if err := cfg.checkTarget(); err != nil {
				return err
			}
			st, err := openStore(cmd.Context(), env, cfg.store, store.Options{MustExist: true})
			if err != nil {
				return err
			}
			defer st.Close()
			return cfg.export(cmd.Context(), env, st)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	addFormatFlag(flags, &cfg.format, "csv")
	flags.BoolVar(&cfg.force, "force", false, "replace FILE if it exists")
	return cmd
}

// checkTarget returns an error if FILE may not be written. It follows a symbolic link.
func (cfg *exportConfig) checkTarget() error {
	if cfg.file == "-" {
		return nil
	}
	path, _ := store.SQLitePath(cfg.store)
	file, err := sqlite.CheckTarget(path, cfg.file, cfg.force)
	if err != nil {
		return advise(err, cfg.store)
	}
	cfg.file = file
	return nil
}

func (cfg *exportConfig) export(ctx context.Context, env environment, st pets.Store) error {
	format := cmp.Or(cfg.format, files.FormatOf(cfg.file), files.CSV)
	write := func(w io.Writer) error {
		return files.Export(ctx, st, w, format, func() { env.pets.Add(1) })
	}
	var err error
	if cfg.file == "-" {
		err = write(env.stdout)
	} else {
		err = cfg.replaceFile(write)
	}
	if err != nil {
		return fmt.Errorf("%w; the export is not complete", cmp.Or(context.Cause(ctx), err))
	}
	fmt.Fprintf(env.stderr, "exported %s\n", counted(env.pets.Load(), "pet"))
	return nil
}

// replaceFile atomically replaces FILE with what write writes. It checks the target
// again before that, because another program may have created it meanwhile.
func (cfg *exportConfig) replaceFile(write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(cfg.file), ".petstore-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if old, err := os.Stat(cfg.file); err == nil {
		_ = f.Chmod(old.Mode()) // a new file has 0600
	}
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := cfg.checkTarget(); err != nil {
		return err
	}
	return os.Rename(f.Name(), cfg.file)
}
