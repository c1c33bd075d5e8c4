package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/natefinch/atomic"
	"github.com/spf13/cobra"

	"example.com/petstore/internal/files"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
)

func exportCommand(env environment) *cobra.Command {
	var address string
	var format files.Format
	var force bool
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all animals to a CSV or NDJSON file",
		Long: `export writes all animals, with their identifiers, to FILE, or to standard output
if FILE is - or not given. "petstore import --restore" brings them back.

It may run beside servers. Every animal that was acknowledged before it began is
in the file once; some of those added meanwhile may be. FILE gets its name only
when it is complete and on disk. In CSV, a carriage return before a line feed in
a name is lost when it is read; NDJSON keeps every name exactly.`,
		Example: `  petstore export pets.csv
  petstore export --store sqlite:/srv/pets.db pets.ndjson
  petstore export --format ndjson | grep '"sold"'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "-"
			if len(args) == 1 {
				file = args[0]
			}
			if err := checkFormat(format); err != nil {
				return err
			}
			format = cmp.Or(format, files.FormatOf(file))
			switch {
			case format == "" && file == "-":
				format = files.CSV
			case format == "":
				return misuse("the name %s does not tell the format: end it in .csv or .ndjson, or give --format", file)
			}
			if err := checkOutput(address, file, force); err != nil {
				return err
			}
			return exportPets(cmd.Context(), env, address, file, format)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &address)
	addFormatFlag(flags, &format, "FILE's name; csv for standard output")
	flags.BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

// checkOutput returns an error unless file may be written: it must not exist,
// unless it may be replaced, and never be a file of the store.
func checkOutput(address, file string, force bool) error {
	if file == "-" {
		return nil
	}
	if path, ok := store.SQLitePath(address); ok {
		if is, err := sqlite.IsStoreFile(path, file); err != nil || is {
			return cmp.Or(err, fmt.Errorf("%s belongs to the store %s; choose another name", file, address))
		}
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot write %s: it exists and is not a file; to write to a pipe, redirect standard output", file)
	case !force:
		return fmt.Errorf("%s is there already; choose another name, or replace it with --force", file)
	}
	return nil
}

func exportPets(ctx context.Context, env environment, address, file string, format files.Format) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	st, err := openStore(ctx, env, address, true)
	if err != nil {
		return err
	}
	defer st.Close()
	p := newProgress(env, "exporting")
	export := func(w io.Writer) error { return files.Export(ctx, st, w, format, p.step) }
	outcome := "nothing was exported"
	if file == "-" {
		outcome = "the output is not complete"
		err = export(env.stdout)
	} else {
		err = replaceFile(file, export)
	}
	p.end()
	if err != nil && ctx.Err() != nil {
		return interrupted(ctx, "interrupted; "+outcome)
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, outcome)
	}
	fmt.Fprintf(env.stderr, "exported %s, %s\n", counted(p.rows, "animal"), p.rate())
	return nil
}

// replaceFile gives a file the content that write writes, all or nothing.
func replaceFile(name string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		written <- err
	}()
	err := atomic.WriteFile(name, r)
	r.CloseWithError(err)
	return cmp.Or(<-written, err)
}
