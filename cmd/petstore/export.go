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
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
)

func exportCommand(env environment) *cobra.Command {
	var address string
	var format files.Format
	var force bool
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
			file := append(args, "-")[0]
			if file == "-" {
				format = cmp.Or(format, files.CSV)
			}
			if format = cmp.Or(format, files.FormatOf(file)); format == "" {
				return misuse("cannot tell the format of %s from its name: end it in .csv or .ndjson, or set --format", file)
			}
			file, err := checkOutput(address, file, force)
			if err != nil {
				return err
			}
			return exportPets(cmd.Context(), env, address, file, format, force)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &address)
	addFormatFlag(flags, &format, "")
	flags.BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

// checkOutput returns the name to write to, or an error if that is not allowed.
func checkOutput(address, file string, force bool) (string, error) {
	if file == "-" {
		return file, nil
	}
	path, _ := store.SQLitePath(address)
	file, err := sqlite.CheckTarget(path, file, force)
	return file, advise(err, address)
}

func exportPets(ctx context.Context, env environment, address, file string, format files.Format, force bool) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	st, err := openStore(ctx, env, address, store.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer st.Close()
	n, show := 0, progress(env)
	export := func(w io.Writer) error {
		return files.Export(ctx, st, w, format, func() {
			n++
			show("%d pets so far", n)
		})
	}
	if file == "-" {
		err = export(env.stdout)
	} else {
		err = replaceFile(file, export, func() error { _, err := checkOutput(address, file, force); return err })
	}
	if err != nil {
		return fmt.Errorf("%w; the export is not complete", cmp.Or(context.Cause(ctx), err))
	}
	fmt.Fprintf(env.stderr, "exported %s\n", counted(n, "pet"))
	return nil
}

// replaceFile atomically replaces the named file with what write writes, unless
// check fails afterwards.
func replaceFile(name string, write func(io.Writer) error, check func() error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".petstore-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if old, err := os.Stat(name); err == nil {
		_ = f.Chmod(old.Mode()) // a new file has 0600
	}
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := check(); err != nil { // another program may have created the file
		return err
	}
	return os.Rename(f.Name(), name)
}
