package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets/files"
	"example.com/petstore/internal/old/pets/service"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/wholefile"
)

// exportConfig is the configuration of `petstore export`.
type exportConfig struct {
	file, store, format string
	force               bool
}

func exportCommand(env environment) *cobra.Command {
	var cfg exportConfig
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all animals to a CSV or NDJSON file",
		Long: `export writes all animals, with their identifiers, to FILE, or to standard output
where that is - or not given. "petstore import --restore" brings them back.

It may run beside servers. Every animal that was acknowledged before it began is in
the file once; of those added meanwhile, some may be. FILE has its name only once
it is whole and on disk.`,
		Example: `  petstore export pets.csv
  petstore export --store sqlite:/srv/pets.db pets.ndjson
  petstore export --format ndjson | grep '"sold"'`,
		Args: cobra.MatchAll(func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly(1, " [FILE]")(cmd, args)
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.file = "-"
			if len(args) == 1 {
				cfg.file = args[0]
			}
			return exportPets(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	addFormatFlag(flags, &cfg.format, "FILE's name; csv for standard output")
	flags.BoolVar(&cfg.force, "force", false, "replace FILE if it is there")
	return cmd
}

func addFormatFlag(flags *pflag.FlagSet, format *string, otherwise string) {
	program.AddChoice(flags, format, "format", "", "csv or ndjson; by default that of "+otherwise, string(files.CSV), string(files.NDJSON))
}

func exportPets(ctx context.Context, env environment, cfg exportConfig) error {
	format, err := cfg.complete()
	if err != nil {
		return err
	}
	outcome := "the output is not whole"
	if cfg.file != "-" {
		if err := wholefile.CheckTarget(cfg.file, cfg.force); err != nil {
			return err
		}
		outcome = "nothing was exported"
	}
	return untilInterrupted(ctx, outcome, func(ctx context.Context) (err error) {
		st, err := store.Open(ctx, cfg.store, store.ReadOnly)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		p := newProgress(env, "writing", nil)
		err = cfg.write(env.stdout, func(to io.Writer) error { return files.Export(ctx, st, to, format, service.AppendPet, p.step) })
		took := p.end()
		if _, written := errors.AsType[*wholefile.UnsyncedError](err); written {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w; %s", err, outcome)
		}
		fmt.Fprintf(env.stderr, "exported %s in %.1f s, %s/s\n", counted(p.rows, "animal"), took.Seconds(), counted(perSecond(p.rows, took), "row"))
		return nil
	})
}

// complete returns the format by the flag or the file's name.
func (cfg exportConfig) complete() (files.Format, error) {
	switch format := files.FormatOf(cfg.file); {
	case cfg.store == store.Memory:
		return "", program.Misuse("the store memory: keeps nothing between programs, so there is nothing to export; use --store sqlite:PATH")
	case cfg.format != "":
		return files.Format(cfg.format), nil
	case cfg.file == "-":
		return files.CSV, nil
	case format == "":
		return "", program.Misuse("the name %s does not tell the format: end it in .csv or .ndjson, or give --format", cfg.file)
	default:
		return format, nil
	}
}

// write has f write to standard output, or to the file, which has its name only once
// all of it is on disk.
func (cfg exportConfig) write(stdout io.Writer, f func(io.Writer) error) (err error) {
	if cfg.file == "-" {
		return f(stdout)
	}
	file, err := wholefile.Create(cfg.file, cfg.force)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Discard()) }()
	if err := f(file); err != nil {
		return err
	}
	return file.Commit()
}
