package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets"
)

// Load implements pets.PetStore.
func (s *Store) Load(ctx context.Context, animals iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Loading(animals), false)
}

// LoadWithIDs implements pets.PetStore.
func (s *Store) LoadWithIDs(ctx context.Context, animals iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.LoadingWithIDs(animals), true)
}

// load copies pets in one transaction, on a connection outside the pools, which
// are for short statements. It does not try again.
func (s *Store) load(ctx context.Context, animals iter.Seq2[pets.Pet, error], withIDs bool) (int, error) {
	if !s.begin() {
		return 0, pets.ErrClosed
	}
	defer s.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	conn, err := connect(ctx, s.config)
	if err != nil {
		return 0, translate(err, notExecuted, false)
	}
	defer disconnect(conn)
	l := loader{withIDs: withIDs}
	tx, err := conn.Begin(ctx)
	if err == nil {
		err = l.copy(ctx, tx, animals)
	}
	switch {
	case l.rejected != nil:
		return 0, l.rejected
	case err != nil && outcomeOf(err) == maybeExecuted: // the connection ended, and the transaction with it
		return 0, translate(err, notExecuted, false)
	case err != nil:
		return 0, translate(err, outcomeOf(err), false)
	}
	delete(conn.PgConn().CustomData(), warning)
	err = tx.Commit(ctx)
	if err == nil && conn.PgConn().CustomData()[warning] != nil {
		err = errWarned
	}
	if err != nil {
		o := outcomeOf(err)
		return 0, translate(err, o, o == maybeExecuted)
	}
	return l.n, nil
}

// loader copies pets within a transaction.
type loader struct {
	withIDs  bool
	n        int
	last     int64
	rejected error // the error that ended the pets, or ErrNotEmpty
}

func (l *loader) copy(ctx context.Context, tx pgx.Tx, animals iter.Seq2[pets.Pet, error]) error {
	columns := []string{"name", "category_id", "status"}
	if l.withIDs {
		columns = append(columns, "id")
		if err := l.requireEmpty(ctx, tx); err != nil {
			return err
		}
	}
	next, stop := iter.Pull2(animals)
	defer stop()
	row := func() ([]any, error) {
		p, err, more := next()
		if err != nil {
			l.rejected = err
		}
		if err != nil || !more {
			return nil, err
		}
		l.n, l.last = l.n+1, p.ID
		return []any{p.Name, p.CategoryID, string(p.Status), p.ID}[:len(columns)], nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"pets"}, columns, pgx.CopyFromFunc(row))
	if err != nil || !l.withIDs || l.n == 0 {
		return err
	}
	// The sequence never moves back, not even if the transaction rolls back.
	_, err = tx.Exec(ctx, "SELECT setval('pets_id_seq', greatest($1, last_value)) FROM pets_id_seq", l.last)
	return err
}

// requireEmpty keeps other writers away until the transaction ends, but no
// readers.
func (l *loader) requireEmpty(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return err
	}
	var filled bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pets)").Scan(&filled); err != nil {
		return err
	}
	if filled {
		l.rejected = pets.ErrNotEmpty
	}
	return l.rejected
}
