package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/petfile"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// importConfig is the configuration of `petstore import`.
type importConfig struct {
	file, store, format string
	restore, keepGood   bool
}

func importCommand(env environment) *cobra.Command {
	var cfg importConfig
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store the pets of a CSV or NDJSON file",
		Long: `import stores the pets of FILE, or of standard input where that is -.

CSV has the contract's field names in its first line: name and categoryId, and
status where there is one; an empty status is none. NDJSON has an object a line.
Both are UTF-8. Whatever else a row holds is ignored, an id too, and a row may
take 64 KiB.

First every row is checked: it must be what POST /v1/pets would accept. Each that
is not is named with its line and the reason, up to 20 of them, and then nothing
is stored, unless --keep-good says to store the others.

Then all is stored in one transaction: whatever happens meanwhile, the store has
all the pets or is as it was. On SQLite, servers on the same file cannot write
until it ends; they go on reading. An import that is run twice stores twice.

--restore brings back what "petstore export" wrote, with the same identifiers,
into a store that holds no pets.`,
		Example: `  petstore import pets.csv
  petstore import --keep-good --store postgres://petstore@db1,db2/pets pets.ndjson
  petstore import --restore --store sqlite:new.db backup.csv
  zcat pets.csv.gz | petstore import -`,
		Args: exactly(1, " FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.file = args[0]
			return importPets(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	addStoreFlag(flags, &cfg.store)
	addFormatFlag(flags, &cfg.format, "FILE's name, or its content")
	flags.BoolVar(&cfg.keepGood, "keep-good", false, "leave out the rows that are not acceptable, and store the others")
	flags.BoolVar(&cfg.restore, "restore", false, "keep the identifiers of an export; the store must hold no pets")
	return cmd
}

// mostShown is how many unacceptable rows are named.
const mostShown = 20

// importPets checks the file, and then stores what is in it.
func importPets(ctx context.Context, env environment, cfg importConfig) (err error) {
	format, err := formatOf(cfg.format)
	switch {
	case err != nil:
		return err
	case cfg.store == store.Memory:
		return usageError{errors.New("the store memory: keeps nothing between programs, so there is nothing to import into; use --store sqlite:PATH")}
	case cfg.restore && cfg.keepGood:
		return usageError{errors.New("--restore brings back all of an export or nothing; leave out --keep-good")}
	case format == "":
		format = petfile.FormatOf(cfg.file)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal kills

	src, err := openSource(env, cfg.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	im := &importing{importConfig: cfg, env: env, src: src, reading: petfile.Reading{Format: format, IDs: cfg.restore}}
	if err := im.check(ctx); err != nil {
		return explainImport(ctx, err)
	}
	if err := warnServers(env, cfg.store); err != nil {
		return explainImport(ctx, err)
	}
	st, err := store.Open(ctx, cfg.store, notifyOn(env.stderr))
	if err != nil {
		return explainImport(ctx, err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return im.load(ctx, st)
}

// warnServers says so where others on the store will have to wait.
func warnServers(env environment, address string) error {
	used, err := store.InUse(address)
	if used {
		fmt.Fprintln(env.stderr, "a server holds this store: it goes on reading, and its creates wait for the end of the import, or are a 503 after 5 s")
	}
	return err
}

// importing is one import under way.
type importing struct {
	importConfig
	env     environment
	src     *source
	reading petfile.Reading

	good, bad int
	checked   time.Duration
}

// check reads the file for the first time.
func (im *importing) check(ctx context.Context) error {
	in, err := im.src.first(ctx)
	if err != nil {
		return err
	}
	p := newProgress(im.env, "checking", im.src.part())
	var problems []string
	for row, err := range im.reading.Rows(in) {
		switch {
		case err != nil:
			p.end()
			return im.src.fault(row.Line, err)
		case row.Err == nil:
			im.good++
		default:
			if im.bad++; im.bad <= mostShown {
				problems = append(problems, im.src.fault(row.Line, row.Err).Error())
			}
		}
		p.step()
	}
	im.checked = p.end()
	for _, problem := range problems {
		fmt.Fprintln(im.env.stderr, problem)
	}
	if more := im.bad - len(problems); more > 0 {
		fmt.Fprintf(im.env.stderr, "and %d more\n", more)
	}
	if im.bad > 0 && !im.keepGood {
		return fmt.Errorf("%d of the %d rows of %s are not acceptable; correct them, or leave them out with --keep-good", im.bad, im.good+im.bad, im.src.name)
	}
	return nil
}

// load reads the file once more, into the store.
func (im *importing) load(ctx context.Context, st petstore.Store) error {
	p := newProgress(im.env, "storing", nil)
	p.part = func() float64 { return float64(p.rows) / float64(im.good) }
	var n int
	var err error
	if im.restore {
		n, err = st.Restore(ctx, pets(im.second(ctx, p), func(r petfile.Row) petstore.Pet { return r.Pet.WithID(r.ID) }))
	} else {
		n, err = st.Load(ctx, pets(im.second(ctx, p), func(r petfile.Row) petstore.NewPet { return r.Pet }))
	}
	took := p.end()
	if err != nil {
		return explainImport(ctx, err)
	}
	leftOut := ""
	if im.bad > 0 {
		leftOut = fmt.Sprintf(", left out %d", im.bad)
	}
	fmt.Fprintf(im.env.stderr, "imported %d pets into %s%s: checked in %.1f s, stored in %.1f s, %d rows/s in all\n",
		n, store.Redact(im.store), leftOut, im.checked.Seconds(), took.Seconds(), perSecond(n, im.checked+took))
	return nil
}

// second returns the acceptable rows once more. That they are the same as the
// first time, it knows only in the end.
func (im *importing) second(ctx context.Context, p *progress) iter.Seq2[petfile.Row, error] {
	return func(yield func(petfile.Row, error) bool) {
		in, err := im.src.again(ctx)
		if err != nil {
			yield(petfile.Row{}, notTheStore{err})
			return
		}
		for row, err := range im.reading.Rows(in) {
			switch {
			case err != nil:
				err = notTheStore{im.src.fault(row.Line, err)}
			case row.Err != nil && im.keepGood:
				continue
			case row.Err != nil:
				err = notTheStore{im.src.errChanged()}
			}
			if !yield(row, err) || err != nil {
				return
			}
			p.step()
		}
		if err := im.src.compare(); err != nil {
			yield(petfile.Row{}, notTheStore{err})
		}
	}
}

// pets makes pets of rows.
func pets[P any](from iter.Seq2[petfile.Row, error], of func(petfile.Row) P) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for row, err := range from {
			if !yield(of(row), err) {
				return
			}
		}
	}
}

// notTheStore is an error of the file, with which no store has to do.
type notTheStore struct{ error }

func (e notTheStore) Unwrap() error { return e.error }

// explainImport says of every failure what has become of the import.
func explainImport(ctx context.Context, err error) error {
	_, fromStore := errors.AsType[*petstore.Error](err)
	_, ours := errors.AsType[notTheStore](err)
	switch kind := petstore.KindOf(err); {
	case ctx.Err() != nil && !(fromStore && kind == petstore.Internal):
		return errors.New("interrupted; nothing was imported")
	case ours || !fromStore || kind == petstore.Invalid:
		return fmt.Errorf("%w; nothing was imported", err)
	case kind == petstore.Unavailable:
		return fmt.Errorf("%w; nothing was imported, try again later", err)
	}
	return fmt.Errorf("%w; the store has all of the pets or none: look before you try again, for example with petstore export", err)
}
