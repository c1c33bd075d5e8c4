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
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
is first read to its end, into a temporary file. Then, until the import ends, SQLite
accepts no other writes: creates wait, and get a 503 after 5 s.

With --restore, pets that are created later get greater identifiers. An export does
not say which pets were removed: if the newest were, their identifiers are given
again. Only a backup keeps the counter.`,
		Example: `  petstore import pets.csv
  gzip -dc pets.csv.gz | petstore import -
  petstore import --restore --store sqlite:new.db exported.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.file = args[0]
			return importPets(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	addFormatFlag(flags, &cfg.options.Format)
	flags.BoolVar(&cfg.dryRun, "dry-run", false, "check the file and store nothing")
	flags.BoolVar(&cfg.options.IDs, "restore", false, "keep the identifiers of an export; the store must hold no pets")
	addJSONFlag(flags, &cfg.asJSON)
	return cmd
}

func addFormatFlag(flags *pflag.FlagSet, format *files.Format) {
	flags.StringVar((*string)(format), "format", "", "csv or ndjson; by default, taken from the extension of FILE")
}

func importPets(ctx context.Context, env environment, cfg importConfig) error {
	decode, err := service.BodyDecoder()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	in := env.stdin
	if cfg.file == "-" {
		cfg.options.Name = "standard input"
	} else {
		file, err := os.Open(cfg.file)
		if err != nil {
			return err
		}
		defer file.Close()
		in, cfg.options.Name, cfg.options.Format = file, cfg.file, cmp.Or(cfg.options.Format, files.FormatOf(cfg.file))
	}
	file, remove, err := cfg.whole(ctx, in)
	if err != nil {
		return explainImport(ctx, err)
	}
	defer remove()
	read, began, show := 0, time.Now(), progress(env)
	cfg.options.Decode = func(body []byte) (pets.NewPet, error) {
		read++
		show("%d rows so far", read)
		return decode(body)
	}
	n, err := cfg.run(ctx, env, func() iter.Seq2[files.Row, error] {
		read = 0
		return files.Read(untilDone(ctx, io.NewSectionReader(file, 0, math.MaxInt64)), cfg.options)
	})
	rejected, ok := errors.AsType[*files.Rejected](err)
	if !ok {
		rejected = &files.Rejected{Good: n}
	}
	for _, row := range rejected.First {
		fmt.Fprintln(env.stderr, printable(fmt.Sprintf("%s:%d: %v", cfg.options.Name, row.Line, row.Err)))
	}
	switch {
	case err != nil && (!ok || !cfg.asJSON):
		return err
	case cfg.dryRun && !cfg.asJSON:
		fmt.Fprintf(env.stderr, "checked %s of %s; nothing was stored (--dry-run)\n", counted(n, "pet"), printable(cfg.options.Name))
		return nil
	case !cfg.asJSON:
		fmt.Fprintf(env.stderr, "imported %s into %s\n", counted(n, "pet"), printable(store.Redact(cfg.store)))
		return nil
	case cfg.dryRun:
		n = 0
	}
	printing := printJSON(env.stdout, struct {
		File       string  `json:"file"`
		Store      string  `json:"store"`
		DryRun     bool    `json:"dryRun"`
		Acceptable int     `json:"acceptable"`
		Rejected   int     `json:"rejected"`
		Imported   int     `json:"imported"`
		Seconds    float64 `json:"seconds"`
	}{cfg.file, store.Redact(cfg.store), cfg.dryRun, rejected.Good, rejected.Bad, n, time.Since(began).Seconds()})
	if printing != nil {
		printing = fmt.Errorf("stored %s, but printing the result failed: %w", counted(n, "pet"), printing)
	}
	return errors.Join(err, printing)
}

// whole returns in if it is a named regular file, or else a temporary file with
// all that in holds, so that no transaction waits for input.
func (cfg importConfig) whole(ctx context.Context, in io.Reader) (file *os.File, remove func(), err error) {
	if file, ok := in.(*os.File); ok && cfg.file != "-" {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return file, func() {}, nil
		}
	}
	file, err = os.CreateTemp("", "petstore-import-*")
	if err == nil {
		remove = func() { _, _ = file.Close(), os.Remove(file.Name()) }
		if _, err = io.Copy(file, untilDone(ctx, in)); err != nil {
			remove()
		}
	}
	if err != nil {
		return nil, nil, &pets.Error{Kind: pets.Invalid, Message: cfg.options.Name, Err: err}
	}
	return file, remove, nil
}

// run checks the rows that read returns and then, from the start, imports them. A
// store is created only for valid rows. Its errors say whether pets were stored.
func (cfg importConfig) run(ctx context.Context, env environment, read func() iter.Seq2[files.Row, error]) (int, error) {
	n, err := files.Check(read())
	if err != nil || cfg.dryRun {
		return n, explainImport(ctx, err)
	}
	st, err := openStore(ctx, env, cfg.store, false)
	if err != nil {
		return 0, fmt.Errorf("%w; nothing was imported", err)
	}
	return importInto(ctx, st, read(), cfg.options.IDs)
}

// importInto imports rows into st and closes it.
func importInto(ctx context.Context, st pets.Store, rows iter.Seq2[files.Row, error], ids bool) (int, error) {
	n, err := files.Import(ctx, st, rows, ids)
	closing := st.Close()
	if err == nil && closing != nil {
		return n, fmt.Errorf("stored %s, but closing the store failed: %w", counted(n, "pet"), closing)
	}
	return n, explainImport(ctx, err)
}

// explainImport adds to an import error whether pets were stored.
func explainImport(ctx context.Context, err error) error {
	_, rejected := errors.AsType[*files.Rejected](err)
	switch {
	case err == nil:
		return nil
	case pets.KindOf(err) == pets.Internal && !rejected:
		return fmt.Errorf("%w; either all of the pets were stored or none: check before you repeat the import, for example with petstore export", err)
	case ctx.Err() != nil:
		return interrupted(ctx, "interrupted; nothing was imported")
	}
	return fmt.Errorf("%w; nothing was imported", err)
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
