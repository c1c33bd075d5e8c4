package postgres

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
	return s.transact(ctx, s.reads, "ISOLATION LEVEL REPEATABLE READ READ ONLY", func(tx pgx.Tx) error {
		var last int64
		if err := tx.QueryRow(ctx, s.sql(selectLastID)).Scan(&last); err != nil {
			return err
		}
		return f(store.Snapshot{
			LastID:   last,
			Pets:     queried(ctx, tx, s.sql("SELECT "+petList+" FROM SCHEMA.pets ORDER BY id"), scanPet),
			Requests: queried(ctx, tx, s.sql(selectRequests), scanRequest),
			Keys:     queried(ctx, tx, s.sql(selectKeys), scanKey),
		})
	})
}

// transact runs f in a transaction. It does not retry, and ends only with ctx: what f
// copies may arrive slowly.
func (s *Store) transact(ctx context.Context, pool *pgxpool.Pool, mode string, f func(pgx.Tx) error) error {
	err := s.attempt(ctx, pool, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, c, withoutTimeouts(mode), func(tx pgx.Tx) error { return rolledBack(f(tx)) })
	})
	return translate(err, pool == s.writes && effectOf(err) == maybeExecuted)
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
			yield(*new(T), err)
		}
	}
}

func scanPet(row pgx.Row) (p pets.Pet, err error) {
	err = row.Scan(petFields(&p)...)
	return p, err
}

// requestFields returns pointers to the fields of requestColumns.
func requestFields(r *pets.KeyedRequest) []any {
	return []any{&r.Key, &r.KeyID, &r.PetID, &r.Fingerprint, &r.CreatedAt}
}

func scanRequest(row pgx.Row) (r pets.KeyedRequest, err error) {
	err = row.Scan(requestFields(&r)...)
	r.CreatedAt = r.CreatedAt.UTC().Truncate(time.Second)
	return r, err
}

// Fill implements store.Store. Until it ends, the lock blocks other writers, not readers.
func (s *Store) Fill(ctx context.Context, from store.Snapshot) error {
	return s.transact(ctx, s.writes, "", func(tx pgx.Tx) error { return s.fill(ctx, tx, from) })
}

func (s *Store) fill(ctx context.Context, tx pgx.Tx, from store.Snapshot) error {
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
	for _, t := range []struct {
		name    string
		columns []string
		rows    iter.Seq2[[]any, error]
	}{
		{"pets", petNames, valuesOf(from.Pets, petFields)},
		{"idempotency_keys", requestColumns, valuesOf(from.Requests, requestFields)},
		{"keys", keyColumns, valuesOf(from.Keys, keyValues)},
	} {
		next, stop := iter.Pull2(t.rows)
		_, err := tx.CopyFrom(ctx, pgx.Identifier{s.schema, t.name}, t.columns, pgx.CopyFromFunc(func() ([]any, error) {
			row, err, _ := next()
			return row, err // no row after the last
		}))
		stop()
		if err != nil {
			return err
		}
	}
	if from.LastID == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, s.sql(setLastID), from.LastID)
	return err
}

// valuesOf yields the values of each row.
func valuesOf[T any](rows iter.Seq2[T, error], values func(*T) []any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for v, err := range rows {
			if !yield(values(&v), err) {
				return
			}
		}
	}
}
