package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/files"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

// importConfig is the configuration of petstore import.
type importConfig struct {
	file, store     string
	format          files.Format
	restore, dryRun bool
}

func importCommand(env environment) *cobra.Command {
	var cfg importConfig
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store the pets of a CSV or NDJSON file",
		Long: `import stores the pets in FILE, or in standard input if FILE is -, in one
transaction. The first line of a CSV file names the columns: name, categoryId and
optionally status. NDJSON has one object per line. Other columns and properties
are ignored.

If POST /v1/pets would reject any of the rows, import lists the first 20 of those
and stores nothing. Importing a file twice stores its pets twice. Standard input
is first read to its end. Until the import ends, SQLite accepts no other writes:
creates wait, and get a 503 within 8 s.

With --restore, pets that are created later get greater identifiers. If the newest
pets were removed before the export, theirs are given again: it has no counter, as
a backup has.`,
		Example: `  petstore import pets.csv
  gzip -dc pets.csv.gz | petstore import -
  petstore import --restore --store sqlite:new.db exported.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.file = args[0]
			return cfg.run(cmd.Context(), env)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	addFormatFlag(flags, &cfg.format, "that of the content")
	flags.BoolVar(&cfg.dryRun, "dry-run", false, "check the file and store nothing")
	flags.BoolVar(&cfg.restore, "restore", false, "keep the identifiers of an export; the store must hold no pets")
	return cmd
}

func addFormatFlag(flags *pflag.FlagSet, format *files.Format, otherwise string) {
	flags.Func("format", "csv or ndjson; by default, that of FILE's extension, or else "+otherwise, func(text string) error {
		*format = files.Format(text)
		if *format != files.CSV && *format != files.NDJSON {
			return errors.New("must be csv or ndjson")
		}
		return nil
	})
}

// run checks all rows and then, unless it is a dry run, stores them. It opens the
// store, and so perhaps creates one, only for valid rows.
func (cfg importConfig) run(ctx context.Context, env environment) error {
	const undone = "nothing was imported"
	decode, err := service.BodyDecoder()
	if err != nil {
		return err
	}
	name := cfg.file
	if name == "-" {
		name = "standard input"
	}
	file, err := openInput(ctx, cfg.file, env.stdin)
	if err != nil {
		return outcome(ctx, err, undone, undone)
	}
	defer file.Close()
	if file.Name() != cfg.file { // a temporary copy
		defer os.Remove(file.Name())
	}
	decodeRow := func(body []byte) (pets.NewPet, error) {
		env.pets.Add(1)
		return decode(body)
	}
	rows := func() iter.Seq2[files.Row, error] {
		env.pets.Store(0)
		return files.Read(untilDone(ctx, io.NewSectionReader(file, 0, math.MaxInt64)),
			files.Options{Name: name, Format: cmp.Or(cfg.format, files.FormatOf(cfg.file)), IDs: cfg.restore, MaxBody: edge.MaxBody, Decode: decodeRow})
	}
	n, err := files.Check(rows())
	if rejected, ok := errors.AsType[*files.Rejected](err); ok {
		for _, row := range rejected.First {
			fmt.Fprintln(env.stderr, printable(fmt.Sprintf("%s:%d: %v", name, row.Line, row.Err)))
		}
	}
	if err != nil {
		return outcome(ctx, err, undone, undone)
	}
	if cfg.dryRun {
		fmt.Fprintf(env.stderr, "checked %s of %s; nothing was stored (--dry-run)\n", counted(n, "pet"), printable(name))
		return nil
	}
	st, err := openStore(ctx, env, cfg.store, store.Options{})
	if err != nil {
		return outcome(ctx, err, undone, undone)
	}
	n, err = files.Import(ctx, st, rows(), cfg.restore)
	closeErr := st.Close()
	address := store.Redact(cfg.store)
	if err != nil {
		return outcome(ctx, err, undone, "either all of the pets were stored or none: check before you repeat the import, for example with "+
			service.Name+" export --store "+address)
	}
	fmt.Fprintf(env.stderr, "imported %s into %s\n", counted(n, "pet"), printable(address))
	return closeErr
}

// openInput opens a file, or copies standard input to a temporary one, which can be read
// twice and keeps no transaction waiting.
func openInput(ctx context.Context, name string, in io.Reader) (*os.File, error) {
	if name != "-" {
		return os.Open(name)
	}
	temp, err := os.CreateTemp("", "petstore-import-*")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(temp, untilDone(ctx, in)); err != nil {
		return nil, errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	return temp, nil
}

// untilDone returns a reader of from that fails when ctx ends, even during a
// blocked read.
func untilDone(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	return r
}
