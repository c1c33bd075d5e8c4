package postgres

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

var (
	selectLastID   = "SELECT greatest((SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM SCHEMA.pets_id_seq), (SELECT max(id) FROM SCHEMA.pets))"
	requestColumns = []string{"key", "key_id", "pet_id", "fingerprint", "created_at"}
	selectRequests = "SELECT " + strings.Join(requestColumns, ", ") + " FROM SCHEMA.idempotency_keys ORDER BY pet_id"

	lockTables = "LOCK TABLE SCHEMA.pets, SCHEMA.keys, SCHEMA.idempotency_keys IN SHARE ROW EXCLUSIVE MODE"

	// A rollback does not undo setval, so this is the last statement before the commit.
	setLastID = "SELECT setval(" + sequence + ", greatest($1, last_value)) FROM SCHEMA.pets_id_seq"
)

// areFilled say whether the store is not as it was created. Each is one query, for Citus.
var areFilled = []string{
	"SELECT EXISTS (SELECT 1 FROM SCHEMA.pets)",
	"SELECT EXISTS (SELECT 1 FROM SCHEMA.keys)",
	"SELECT EXISTS (SELECT 1 FROM SCHEMA.idempotency_keys)",
	"SELECT is_called FROM SCHEMA.pets_id_seq",
}

// Snapshot implements store.Reader. On Citus, the nodes have no common snapshot.
func (s *Store) Snapshot(ctx context.Context, f func(store.Snapshot) error) error {
	var stopped error // f's error
	err := s.attempt(ctx, s.reads, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, c, withoutTimeouts("ISOLATION LEVEL REPEATABLE READ READ ONLY"), func(tx pgx.Tx) error {
			var last int64
			if err := tx.QueryRow(ctx, s.sql(selectLastID)).Scan(&last); err != nil {
				return err
			}
			stopped = f(store.Snapshot{
				LastID:   last,
				Pets:     queried(ctx, tx, s.sql("SELECT "+petList+" FROM SCHEMA.pets ORDER BY id"), scanPet),
				Requests: queried(ctx, tx, s.sql(selectRequests), scanRequest),
				Keys:     queried(ctx, tx, s.sql(selectKeys), scanKey),
			})
			return stopped
		})
	})
	if stopped != nil || err == nil {
		return stopped
	}
	return translate(err, effectOf(err), false)
}

// queried yields the rows of a query, up to the first error.
func queried[T any](ctx context.Context, tx pgx.Tx, query string, scan func(pgx.Row) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, _ := tx.Query(ctx, query) // rows.Err returns the error
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				yield(v, translate(err, effectOf(err), false))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(*new(T), translate(err, effectOf(err), false))
		}
	}
}

func scanPet(row pgx.Row) (p pets.Pet, err error) {
	err = row.Scan(petFields(&p)...)
	return p, err
}

// requestValues returns the values of requestColumns.
func requestValues(r pets.KeyedRequest) []any {
	return []any{r.Key, r.KeyID, r.PetID, r.Fingerprint, r.CreatedAt}
}

func scanRequest(row pgx.Row) (r pets.KeyedRequest, err error) {
	err = row.Scan(&r.Key, &r.KeyID, &r.PetID, &r.Fingerprint, &r.CreatedAt)
	r.CreatedAt = r.CreatedAt.UTC().Truncate(time.Second)
	return r, err
}

// Fill implements store.Store. It does not retry, and ends only with ctx: the snapshot
// may arrive slowly. Until it ends, the lock blocks other writers, not readers.
func (s *Store) Fill(ctx context.Context, from store.Snapshot) error {
	var refused error   // an error of the snapshot
	committing := false // everything was sent
	err := s.attempt(ctx, s.writes, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, c, withoutTimeouts(""), func(tx pgx.Tx) error {
			if err := s.lockEmpty(ctx, tx); err != nil {
				return err
			}
			err := copyInto(ctx, tx, s.table("pets"), petNames, from.ValidPets(), &refused, func(p pets.Pet) []any {
				return petFields(&p)
			})
			if err != nil {
				return err
			}
			err = copyInto(ctx, tx, s.table("idempotency_keys"), requestColumns, from.Requests, &refused, requestValues)
			if err != nil {
				return err
			}
			err = copyInto(ctx, tx, s.table("keys"), keyColumns, from.Keys, &refused, keyValues)
			if err != nil {
				return err
			}
			committing = true
			if from.LastID > 0 {
				_, err = tx.Exec(ctx, s.sql(setLastID), from.LastID)
			}
			return err
		})
	})
	switch {
	case err == nil:
		return nil
	case refused != nil:
		return refused
	case errors.Is(err, store.ErrNotEmpty):
		return err
	}
	e := effectOf(err)
	if !committing && e == maybeExecuted { // the connection broke, which ended the transaction
		e = notExecuted
	}
	return translate(err, e, e == maybeExecuted)
}

func (s *Store) table(name string) pgx.Identifier { return pgx.Identifier{s.schema, name} }

// lockEmpty locks all tables against writing, or returns ErrNotEmpty.
func (s *Store) lockEmpty(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, s.sql(lockTables)); err != nil {
		return err
	}
	for _, query := range areFilled {
		var filled bool
		if err := tx.QueryRow(ctx, s.sql(query)).Scan(&filled); err != nil {
			return err
		}
		if filled {
			return store.ErrNotEmpty
		}
	}
	return nil
}

// copyInto copies rows into a table. It sets refused to an error of all, of which pgx
// returns only the text.
func copyInto[T any](
	ctx context.Context, tx pgx.Tx, table pgx.Identifier, columns []string,
	all iter.Seq2[T, error], refused *error, values func(T) []any,
) error {
	next, stop := iter.Pull2(all)
	defer stop()
	_, err := tx.CopyFrom(ctx, table, columns, pgx.CopyFromFunc(func() ([]any, error) {
		v, err, more := next()
		if err != nil || !more {
			*refused = err
			return nil, err
		}
		return values(v), nil
	}))
	return err
}
