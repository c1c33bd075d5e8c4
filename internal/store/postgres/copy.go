package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

const (
	selectLastID   = "SELECT greatest((SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM pets_id_seq), (SELECT max(id) FROM pets))"
	selectRequests = "SELECT key, key_id, pet_id, fingerprint, created_at FROM idempotency_keys ORDER BY pet_id"

	// A rollback does not undo setval, so this is the last statement before the commit.
	setLastID = "SELECT setval('pets_id_seq', greatest($1, last_value)) FROM pets_id_seq"
)

// Snapshot implements store.Store. On Citus, the nodes have no common snapshot.
func (s *Store) Snapshot(ctx context.Context, f func(store.Snapshot) error) error {
	var stopped error // f's error
	err := s.attempt(ctx, s.reads, func(ctx context.Context, c *pgx.Conn) error {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, c, options, func(tx pgx.Tx) error {
			var last int64
			if err := tx.QueryRow(ctx, selectLastID).Scan(&last); err != nil {
				return err
			}
			stopped = f(store.Snapshot{
				LastID:   last,
				Pets:     queried(ctx, tx, "SELECT id, "+columns+" FROM pets ORDER BY id", scanPet),
				Requests: queried(ctx, tx, selectRequests, scanRequest),
				Keys:     queried(ctx, tx, selectKeys, scanKey),
			})
			return nil
		})
	})
	if err != nil {
		o := outcomeOf(err)
		return translate(err, o, false)
	}
	return stopped
}

// queried yields the rows of a query, up to the first error.
func queried[T any](ctx context.Context, tx pgx.Tx, query string, scan func(pgx.Row) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, _ := tx.Query(ctx, query) // rows.Err returns the error
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if !yield(v, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(*new(T), translate(err, outcomeOf(err), false))
		}
	}
}

func scanPet(row pgx.Row) (p pets.Pet, err error) {
	err = row.Scan(idAndValues(&p)...)
	return p, err
}

func scanRequest(row pgx.Row) (r pets.KeyedRequest, err error) {
	err = row.Scan(&r.Key, &r.KeyID, &r.PetID, &r.Fingerprint, &r.CreatedAt)
	r.CreatedAt = r.CreatedAt.UTC().Truncate(time.Second)
	return r, err
}

// Fill implements store.Store. It does not retry, and ends only with ctx: the snapshot
// may arrive slowly. Until it ends, the lock blocks other writers, not readers.
func (s *Store) Fill(ctx context.Context, from store.Snapshot) error {
	var refused error   // an error of the snapshot, not of the database
	committing := false // everything was sent
	err := s.attempt(ctx, s.writes, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if err := lockEmpty(ctx, tx); err != nil {
				return err
			}
			names := []string{"id"}
			for _, c := range petColumns {
				names = append(names, c.name)
			}
			err := copyInto(ctx, tx, "pets", names, from.ValidPets(), &refused, func(p pets.Pet) []any { return idAndValues(&p) })
			if err != nil {
				return err
			}
			names = []string{"key", "key_id", "pet_id", "fingerprint", "created_at"}
			err = copyInto(ctx, tx, "idempotency_keys", names, from.Requests, &refused, func(r pets.KeyedRequest) []any {
				return []any{r.Key, r.KeyID, r.PetID, r.Fingerprint, r.CreatedAt}
			})
			if err != nil {
				return err
			}
			if err := copyInto(ctx, tx, "keys", keyColumns, from.Keys, &refused, keyValues); err != nil {
				return err
			}
			committing = true
			if from.LastID > 0 {
				_, err = tx.Exec(ctx, setLastID, from.LastID)
			}
			return err
		})
	})
	o := outcomeOf(err)
	switch {
	case err == nil:
		return nil
	case refused != nil:
		return refused
	case pets.KindOf(err) == pets.Invalid:
		return err
	case !committing && o == maybeExecuted: // the connection broke, which ended the transaction
		o = notExecuted
	}
	return translate(err, o, o == maybeExecuted)
}

// lockEmpty locks all tables against writing, or returns ErrNotEmpty.
func lockEmpty(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "LOCK TABLE pets, keys, idempotency_keys IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return err
	}
	for _, query := range []string{
		"SELECT EXISTS (SELECT 1 FROM pets)",
		"SELECT EXISTS (SELECT 1 FROM keys)",
		"SELECT EXISTS (SELECT 1 FROM idempotency_keys)",
		"SELECT is_called FROM pets_id_seq",
	} {
		var filled bool
		if err := tx.QueryRow(ctx, query).Scan(&filled); err != nil {
			return err
		}
		if filled {
			return store.ErrNotEmpty
		}
	}
	return nil
}

// copyInto copies rows into a table. It sets refused to an error of all.
func copyInto[T any](ctx context.Context, tx pgx.Tx, table string, columns []string, all iter.Seq2[T, error], refused *error, values func(T) []any) error {
	next, stop := iter.Pull2(all)
	defer stop()
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		v, err, more := next()
		if err != nil || !more {
			*refused = err
			return nil, err
		}
		return values(v), nil
	}))
	return err
}
