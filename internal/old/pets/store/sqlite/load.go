package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"example.com/petstore/internal/old/pets"
)

// loadRows is how many pets one statement of Load inserts. One at a time would
// take twice the processor's time; more save little.
const loadRows = 1024

// Two tables tell whether there has ever been a pet: SQLite counts the
// identifiers it has given in its own.
const anyPet = "SELECT EXISTS (SELECT 1 FROM pets) OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets' AND seq > 0)"

// Load implements pets.PetStore.
func (s *Store) Load(ctx context.Context, animals iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Loading(animals), newIDs)
}

// LoadWithIDs implements pets.PetStore. Final, too, rests on there having been no
// pet: identifiers only ascend.
func (s *Store) LoadWithIDs(ctx context.Context, animals iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.LoadingWithIDs(animals), ownIDs)
}

// errRefused undoes the transaction because of pets, not of the database.
var errRefused = errors.New("the pets are refused")

// load inserts pets in one transaction of their own. It keeps other writers
// waiting for some 4 s a million pets. Writers of other processes wait for at most
// dbfile.BusyTimeout.
func (s *Store) load(ctx context.Context, animals iter.Seq2[pets.Pet, error], ids string) (n int, err error) {
	if s.committer == nil {
		return 0, errReadOnly
	}
	var refusal error
	err = s.committer.writeExclusive(ctx, func(w *writer) error {
		if ids == ownIDs {
			if err := checkEmpty(w); err != nil {
				return err
			}
		}
		l := &loader{w: w, ids: ids}
		defer l.close()
		for p, err := range animals {
			if err == nil && ctx.Err() != nil {
				err = pets.ErrGaveUp
			}
			if err != nil {
				refusal = err
				return errRefused
			}
			if err := l.add(p); err != nil {
				return err
			}
			n++
		}
		return l.flush()
	})
	if refusal != nil {
		return 0, refusal
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

func checkEmpty(w *writer) error {
	var held bool
	if err := w.conn.QueryRowContext(context.Background(), anyPet).Scan(&held); err != nil {
		return err
	}
	if held {
		return pets.ErrNotEmpty
	}
	return nil
}

// loader gathers rows for statements of loadRows.
type loader struct {
	w    *writer
	ids  string
	rows int // gathered
	args []any
	pet  pets.Pet // whose values go to args
	full *sql.Stmt
}

func (l *loader) add(p pets.Pet) error {
	if l.ids == ownIDs {
		l.args = append(l.args, p.ID)
	}
	l.pet = p
	l.args = appendValues(l.args, &l.pet)
	if l.rows++; l.rows < loadRows {
		return nil
	}
	if l.full == nil {
		var err error
		if l.full, err = l.w.conn.PrepareContext(context.Background(), insertPets(l.ids, loadRows)); err != nil {
			return err
		}
	}
	_, err := l.full.Exec(l.args...)
	l.rows, l.args = 0, l.args[:0]
	return err
}

// flush inserts the rows that are left.
func (l *loader) flush() error {
	if l.rows == 0 {
		return nil
	}
	_, err := l.w.conn.ExecContext(context.Background(), insertPets(l.ids, l.rows), l.args...)
	return err
}

func (l *loader) close() {
	if l.full != nil {
		_ = l.full.Close() // of a connection that lives on: nothing hangs on it
	}
}
