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
	file, store    string
	options        files.Options
	dryRun, asJSON bool
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
			cfg.file, cfg.options.Name = args[0], args[0]
			if cfg.file == "-" {
				cfg.options.Name = "standard input"
			}
			return importPets(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	addFormatFlag(flags, &cfg.options.Format, " or the content")
	flags.BoolVar(&cfg.dryRun, "dry-run", false, "check the file and store nothing")
	flags.BoolVar(&cfg.options.IDs, "restore", false, "keep the identifiers of an export; the store must hold no pets")
	addJSONFlag(flags, &cfg.asJSON)
	return cmd
}

func addFormatFlag(flags *pflag.FlagSet, format *files.Format, source string) {
	flags.StringVar((*string)(format), "format", "", "csv or ndjson; by default, taken from the extension of FILE"+source)
}

func importPets(ctx context.Context, env environment, cfg importConfig) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	n, err := cfg.importFile(ctx, env)
	rejected, isRejected := errors.AsType[*files.Rejected](err)
	if isRejected {
		for _, row := range rejected.First {
			fmt.Fprintln(env.stderr, printable(fmt.Sprintf("%s:%d: %v", cfg.options.Name, row.Line, row.Err)))
		}
	}
	switch {
	case cfg.asJSON && isRejected:
		return errors.Join(err, cfg.printResult(env.stdout, rejected.Good, rejected.Bad, 0))
	case err != nil:
		return err
	case cfg.asJSON && cfg.dryRun:
		return cfg.printResult(env.stdout, n, 0, 0)
	case cfg.asJSON:
		return cfg.printResult(env.stdout, n, 0, n)
	case cfg.dryRun:
		fmt.Fprintf(env.stderr, "checked %s of %s; nothing was stored (--dry-run)\n", counted(n, "pet"), printable(cfg.options.Name))
	default:
		fmt.Fprintf(env.stderr, "imported %s into %s\n", counted(n, "pet"), printable(store.Redact(cfg.store)))
	}
	return nil
}

const nothingImported = "nothing was imported"

// importFile checks all rows and then, unless it is a dry run, stores them. It returns
// how many there are. A store is created only for valid rows.
func (cfg importConfig) importFile(ctx context.Context, env environment) (int, error) {
	decode, err := service.BodyDecoder()
	if err != nil {
		return 0, err
	}
	file, remove, err := cfg.open(ctx, env.stdin)
	if err != nil {
		return 0, outcome(ctx, err, nothingImported)
	}
	defer remove()
	read, show := 0, progress(env)
	cfg.options.MaxBody = edge.MaxBody
	cfg.options.Decode = func(body []byte) (pets.NewPet, error) {
		read++
		show("%d rows so far", read)
		return decode(body)
	}
	rows := func() iter.Seq2[files.Row, error] {
		read = 0
		return files.Read(untilDone(ctx, io.NewSectionReader(file, 0, math.MaxInt64)), cfg.options)
	}
	n, err := files.Check(rows())
	if err != nil {
		return 0, outcome(ctx, err, nothingImported)
	}
	if cfg.dryRun {
		return n, nil
	}
	st, err := openStore(ctx, env, cfg.store, store.Options{})
	if err != nil {
		return 0, outcome(ctx, err, nothingImported)
	}
	return cfg.importInto(ctx, st, rows())
}

func (cfg importConfig) printResult(out io.Writer, acceptable, rejected, imported int) error {
	return printed("stored "+counted(imported, "pet"), printJSON(out, struct {
		File       string `json:"file"`
		Store      string `json:"store"`
		DryRun     bool   `json:"dryRun"`
		Acceptable int    `json:"acceptable"`
		Rejected   int    `json:"rejected"`
		Imported   int    `json:"imported"`
	}{cfg.file, store.Redact(cfg.store), cfg.dryRun, acceptable, rejected, imported}))
}

// open returns FILE, or a temporary copy of it if it is not a regular file, so that no
// transaction waits for input.
func (cfg *importConfig) open(ctx context.Context, in io.Reader) (file *os.File, remove func(), err error) {
	if cfg.file != "-" {
		cfg.options.Format = cmp.Or(cfg.options.Format, files.FormatOf(cfg.file))
		file, err := os.Open(cfg.file)
		if err != nil {
			return nil, nil, err
		}
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return file, func() { _ = file.Close() }, nil
		}
		defer file.Close()
		in = file
	}
	file, err = os.CreateTemp("", "petstore-import-*")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _, _ = file.Close(), os.Remove(file.Name()) }
	if _, err := io.Copy(file, untilDone(ctx, in)); err != nil {
		remove()
		return nil, nil, fmt.Errorf("%s: %w", cfg.options.Name, err)
	}
	return file, remove, nil
}

// importInto imports rows into st and closes it. Its errors say whether pets were
// stored.
func (cfg importConfig) importInto(ctx context.Context, st pets.Store, rows iter.Seq2[files.Row, error]) (int, error) {
	n, err := files.Import(ctx, st, rows, cfg.options.IDs)
	closeErr := st.Close()
	if err == nil && closeErr != nil {
		return n, fmt.Errorf("stored %s, but closing the store failed: %w", counted(n, "pet"), closeErr)
	}
	if err == nil {
		return n, nil
	}
	if _, isRejected := errors.AsType[*files.Rejected](err); !isRejected && pets.KindOf(err) == pets.Internal {
		return 0, outcome(ctx, err, "either all of the pets were stored or none: check before you repeat the import, for example with "+
			service.Name+" export --store "+store.Redact(cfg.store))
	}
	return 0, outcome(ctx, err, nothingImported)
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
