package postgres

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets"
)

func (s *Store) Load(ctx context.Context, all iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Validated(all), "name", "category_id", "status")
}

func (s *Store) LoadWithIDs(ctx context.Context, all iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.ValidatedWithIDs(all), "name", "category_id", "status", "id")
}

// load copies pets in one transaction. It does not retry, and ends only with ctx:
// the pets may arrive slowly.
func (s *Store) load(ctx context.Context, all iter.Seq2[pets.Pet, error], columns ...string) (n int, err error) {
	withIDs := slices.Contains(columns, "id")
	next, stop := iter.Pull2(all)
	defer stop()
	var last int64
	var rejected error // the error that all yielded, or ErrNotEmpty
	row := func() ([]any, error) {
		p, err, more := next()
		if err != nil || !more {
			rejected = err
			return nil, err
		}
		n, last = n+1, p.ID
		return []any{p.Name, p.CategoryID, string(p.Status), p.ID}[:len(columns)], nil
	}
	copied := false
	err = s.attempt(ctx, s.writes, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if withIDs {
				// Until the transaction ends, the lock blocks other writers, not readers.
				if _, err := tx.Exec(ctx, "LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE"); err != nil {
					return err
				}
				var filled bool
				if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pets)").Scan(&filled); err != nil {
					return err
				}
				if filled {
					rejected = pets.ErrNotEmpty
					return rejected
				}
			}
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"pets"}, columns, pgx.CopyFromFunc(row))
			if err == nil && withIDs {
				// Never move the sequence back: a rollback does not undo setval.
				_, err = tx.Exec(ctx, "SELECT setval('pets_id_seq', greatest($1, last_value), is_called OR $1 > 0) FROM pets_id_seq", last)
			}
			copied = err == nil
			return err
		})
	})
	o := outcomeOf(err)
	switch {
	case err == nil:
		return n, nil
	case rejected != nil:
		return 0, rejected
	case !copied && o == maybeExecuted: // the connection broke, which ended the transaction
		o = notExecuted
	}
	return 0, translate(err, o, o == maybeExecuted)
}
