package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/files"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/web"
)

// importConfig is the configuration of `petstore import`.
type importConfig struct {
	file, store, format, rejects      string
	restore, keepGood, dryRun, asJSON bool
}

func importCommand(env environment) *cobra.Command {
	var cfg importConfig
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store the animals of a CSV or NDJSON file",
		Long: `import stores the animals of FILE, or of standard input where that is -.

CSV has the contract's field names in its first line: name and categoryId, and
status where there is one; an empty status is none. NDJSON has an object a line.
Both are UTF-8, and may be compressed by gzip. Whatever else a row holds is
ignored, an id too, and a row may take 64 KiB.

First every row is checked: it must be what POST /v1/pets would accept. Rows that
are not acceptable are named, up to 20 of them, with line and reason. Then nothing
is stored, unless --keep-good says to store the others. --rejects writes all rows
that are not acceptable to a file, with their reasons.

Then all is stored in one transaction: whatever happens meanwhile, the store has
all the animals or is as it was. On SQLite, servers on the same file cannot write
until it ends; they go on reading. An import that is run twice stores twice.

--restore brings back what "petstore export" wrote, with the same identifiers,
into a store that holds no animals.`,
		Example: `  petstore import pets.csv
  petstore import --dry-run --rejects bad.csv pets.csv.gz
  petstore import --keep-good pets.ndjson
  petstore import --restore --store sqlite:new.db backup.csv`,
		Args: exactly(1, " FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.file = args[0]
			return importPets(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	addFormatFlag(flags, &cfg.format, "FILE's name or its content")
	flags.BoolVar(&cfg.dryRun, "dry-run", false, "check the file and store nothing; the store is not opened")
	flags.BoolVar(&cfg.keepGood, "keep-good", false, "leave out the rows that are not acceptable, and store the others")
	flags.StringVar(&cfg.rejects, "rejects", "", "write the rows that are not acceptable to this new `file`, as CSV of line, reason and row")
	flags.BoolVar(&cfg.restore, "restore", false, "keep the identifiers of an export; the store must hold no animals")
	addJSONFlag(flags, &cfg.asJSON)
	return cmd
}

// complete refuses flags that make no sense together, and returns the format by the
// flag or the file's name.
func (cfg importConfig) complete() (files.Format, error) {
	format := files.Format(cfg.format)
	switch {
	case cfg.store == store.Memory:
		return "", program.Misuse("the store memory: keeps nothing between programs, so there is nothing to import into; use --store sqlite:PATH")
	case cfg.restore && cfg.keepGood:
		return "", program.Misuse("--restore brings back all of an export or nothing; leave out --keep-good")
	case format == "":
		format = files.FormatOf(strings.TrimSuffix(cfg.file, ".gz"))
	}
	return format, nil
}

// importPets checks the file, and then stores its pets.
func importPets(ctx context.Context, env environment, cfg importConfig) (err error) {
	format, err := cfg.complete()
	if err != nil {
		return err
	}
	body, err := web.Body()
	if err != nil {
		return err
	}
	ctx, stop := program.UntilSignal(ctx)
	defer stop()
	src, err := files.Open(cfg.file, env.stdin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	rejects, err := newRejects(env, src, cfg.rejects)
	if err != nil {
		return err
	}
	im := &importing{importConfig: cfg, env: env, file: files.Import{
		Source: src, Reading: files.Reading{Format: format, IDs: cfg.restore, Body: body}, KeepGood: cfg.keepGood, Reject: rejects.add,
	}}
	err = im.validate(ctx)
	if err = errors.Join(err, rejects.end()); err != nil {
		return explainImport(ctx, err)
	}
	err = im.refuse()
	if err == nil && !cfg.dryRun {
		err = im.store(ctx)
	}
	if cfg.asJSON && (err == nil || im.file.Bad > 0) {
		err = errors.Join(err, im.printJSON())
	} else if err == nil {
		im.print()
	}
	return err
}

// importing is one import under way.
type importing struct {
	importConfig
	env  environment
	file files.Import

	stored            int
	checking, storing time.Duration
}

// validate reads the file for the first time.
func (im *importing) validate(ctx context.Context) error {
	p := newProgress(im.env, "checking", im.file.Source.Part)
	im.file.Step = p.step
	err := im.file.Check(ctx)
	im.checking = p.end()
	return err
}

// refuse returns an error where rows are not acceptable and must be.
func (im *importing) refuse() error {
	if im.file.Bad == 0 || im.keepGood {
		return nil
	}
	next := "correct them, or leave them out with --keep-good"
	if im.rejects != "" {
		next = im.rejects + " has them; " + next
	}
	verb := "are"
	if im.file.Bad == 1 {
		verb = "is"
	}
	return fmt.Errorf("%d of the %s of %s %s not acceptable; %s; nothing was imported", im.file.Bad, counted(im.file.Good+im.file.Bad, "row"), im.file.Source.Name(), verb, next)
}

// store reads the file once more, into the store.
func (im *importing) store(ctx context.Context) (err error) {
	if err := warnServers(im.env, im.importConfig.store); err != nil {
		return explainImport(ctx, err)
	}
	st, err := store.Open(ctx, im.importConfig.store, notifyOn(im.env.stderr))
	if err != nil {
		return explainImport(ctx, err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	p := newProgress(im.env, "storing", nil)
	p.part = func() float64 { return float64(p.rows) / float64(im.file.Good) }
	im.file.Step = p.step
	im.stored, err = im.file.Store(ctx, st)
	im.storing = p.end()
	return explainImport(ctx, err)
}

// print reports the import to a person.
func (im *importing) print() {
	leftOut := ""
	if im.file.Bad > 0 {
		leftOut = fmt.Sprintf(", left out %d", im.file.Bad)
	}
	if im.dryRun {
		fmt.Fprintf(im.env.stderr, "checked %s of %s%s; nothing was stored (--dry-run)\n", counted(im.file.Good, "animal"), visible(im.file.Source.Name()), leftOut)
		return
	}
	fmt.Fprintf(im.env.stderr, "imported %s into %s%s: checked in %.1f s, stored in %.1f s, %s/s in all\n",
		counted(im.stored, "animal"), visible(store.Redact(im.importConfig.store)), leftOut,
		im.checking.Seconds(), im.storing.Seconds(), counted(perSecond(im.stored, im.checking+im.storing), "row"))
}

// printJSON prints the same for programs.
func (im *importing) printJSON() error {
	return printJSON(im.env.stdout, struct {
		File            string  `json:"file"`
		Store           string  `json:"store"`
		DryRun          bool    `json:"dryRun"`
		Acceptable      int     `json:"acceptable"`
		Rejected        int     `json:"rejected"`
		Imported        int     `json:"imported"`
		CheckingSeconds float64 `json:"checkingSeconds"`
		StoringSeconds  float64 `json:"storingSeconds"`
	}{
		im.importConfig.file, store.Redact(im.importConfig.store), im.dryRun, im.file.Good, im.file.Bad, im.stored,
		im.checking.Seconds(), im.storing.Seconds(),
	})
}

// warnServers tells the operator where servers on the store will have to wait.
func warnServers(env environment, address string) error {
	used, err := store.InUse(address)
	if used {
		fmt.Fprintln(env.stderr, "a server holds this store: it goes on reading, and its creates wait for the end of the import, or are a 503 after 8 s")
	}
	return err
}

// explainImport adds to every failure whether any pets were imported.
func explainImport(ctx context.Context, err error) error {
	_, fromStore := errors.AsType[*pets.Error](err)
	_, fromFile := errors.AsType[files.FileError](err)
	switch kind := pets.KindOf(err); {
	case err == nil:
		return nil
	case ctx.Err() != nil && !(fromStore && kind == pets.Internal):
		return interrupted(ctx, "interrupted; nothing was imported")
	case fromFile || !fromStore || kind == pets.Invalid:
		return fmt.Errorf("%w; nothing was imported", err)
	case kind == pets.Unavailable:
		return fmt.Errorf("%w; nothing was imported, try again later", err)
	}
	return fmt.Errorf("%w; the store has all of the animals or none: look before you try again, for example with petstore export", err)
}
