package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets"
)

// Load implements pets.Store.
func (s *Store) Load(ctx context.Context, all iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Validated(all), "name", "category_id", "status")
}

// LoadWithIDs implements pets.Store.
func (s *Store) LoadWithIDs(ctx context.Context, all iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.ValidatedWithIDs(all), "name", "category_id", "status", "id")
}

// load copies pets in one transaction. It does not retry, and ends only with ctx:
// the pets may arrive slowly.
func (s *Store) load(ctx context.Context, all iter.Seq2[pets.Pet, error], columns ...string) (int, error) {
	l, copied := loader{columns: columns}, false
	err := s.attempt(ctx, s.writes, time.Now().Add(outageWait), func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			err := l.copy(ctx, tx, all)
			copied = err == nil
			return err
		})
	})
	o := outcomeOf(err)
	switch {
	case err == nil:
		return l.n, nil
	case l.rejected != nil:
		return 0, l.rejected
	case !copied && o == maybeExecuted: // the connection broke, which ended the transaction
		o = notExecuted
	}
	return 0, translate(err, o, o == maybeExecuted)
}

// loader copies pets within a transaction.
type loader struct {
	columns  []string // the last is id if the pets keep their identifiers
	n        int
	rejected error // the error that all yielded, or ErrNotEmpty
}

func (l *loader) copy(ctx context.Context, tx pgx.Tx, all iter.Seq2[pets.Pet, error]) error {
	withIDs := l.columns[len(l.columns)-1] == "id"
	if withIDs {
		// Until the transaction ends, the lock blocks other writers, not readers.
		var filled bool
		_, err := tx.Exec(ctx, "LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE")
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pets)").Scan(&filled)
		}
		if filled {
			l.rejected = pets.ErrNotEmpty
			err = l.rejected
		}
		if err != nil {
			return err
		}
	}
	next, stop := iter.Pull2(all)
	defer stop()
	var last int64
	row := func() ([]any, error) {
		p, err, more := next()
		if err != nil || !more {
			l.rejected = err
			return nil, err
		}
		l.n, last = l.n+1, p.ID
		return []any{p.Name, p.CategoryID, string(p.Status), p.ID}[:len(l.columns)], nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"pets"}, l.columns, pgx.CopyFromFunc(row))
	if err == nil && withIDs {
		// Never move the sequence back: a rollback does not undo setval.
		_, err = tx.Exec(ctx, "SELECT setval('pets_id_seq', greatest($1, last_value), is_called OR $1 > 0) FROM pets_id_seq", last)
	}
	return err
}
