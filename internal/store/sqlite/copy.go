package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

const (
	selectLastID = `SELECT max((SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'pets'),
		(SELECT coalesce(max(id), 0) FROM pets))`
	selectRequests = "SELECT key, key_id, pet_id, fingerprint, created_at FROM idempotency_keys ORDER BY pet_id"
	insertRequest  = "INSERT INTO idempotency_keys (key, key_id, pet_id, fingerprint, created_at) VALUES (?, ?, ?, ?, ?)"
	setLastID      = "DELETE FROM sqlite_sequence WHERE name = 'pets'; INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)"
	isFilled       = `SELECT EXISTS (SELECT 1 FROM pets) OR EXISTS (SELECT 1 FROM keys) OR EXISTS (SELECT 1 FROM idempotency_keys)
		OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets' AND seq > 0)`
)

var selectAllPets = "SELECT " + idAndColumns() + " FROM pets ORDER BY id"

// Snapshot implements store.Store. It has a connection of its own, so neither other
// calls nor Close wait for it.
func (s *Store) Snapshot(ctx context.Context, f func(store.Snapshot) error) error {
	var r *Reader
	err := s.read(ctx, func() (err error) {
		r, err = newReader(ctx, s.file, besideServer)
		return err
	})
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Snapshot(ctx, f)
}

// Snapshot implements store.Reader.
func (r *Reader) Snapshot(ctx context.Context, f func(store.Snapshot) error) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return r.classify(err)
	}
	defer tx.Rollback()
	var last int64
	if err := tx.QueryRowContext(ctx, selectLastID).Scan(&last); err != nil {
		return r.classify(err)
	}
	return f(store.Snapshot{
		LastID:   last,
		Pets:     queried(ctx, tx, selectAllPets, scanPet, r.classify),
		Requests: queried(ctx, tx, selectRequests, scanRequest, r.classify),
		Keys:     queried(ctx, tx, selectKeys, scanKey, r.classify),
	})
}

// queried yields the rows of a query, up to the first error.
func queried[T any](
	ctx context.Context, tx *sql.Tx, query string, scan func(scanner, *T) error, classify func(error) error,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, err := tx.QueryContext(ctx, query)
		for v, err := range scanned(rows, err, scan) {
			if !yield(v, classify(err)) {
				return
			}
		}
	}
}

func scanRequest(row scanner, r *pets.KeyedRequest) error {
	var created int64
	err := row.Scan(&r.Key, &r.KeyID, &r.PetID, &r.Fingerprint, &created)
	r.CreatedAt = time.Unix(created, 0).UTC()
	return err
}

// Fill implements store.Store. Other writers wait until it is done.
func (s *Store) Fill(ctx context.Context, from store.Snapshot) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return pets.ErrClosed
	}
	var broken error // an error of the snapshot, which is none of this database
	err := s.writer.writeAlone(ctx, func(tx *tx) error {
		var filled bool
		if err := tx.QueryRow(isFilled).Scan(&filled); err != nil {
			return err
		}
		if filled {
			return store.ErrNotEmpty
		}
		for p := range intact(ctx, from.ValidPets(), &broken) {
			if _, err := tx.create(p); err != nil {
				return err
			}
		}
		for r := range intact(ctx, from.Requests, &broken) {
			if _, err := tx.Exec(insertRequest, r.Key, r.KeyID, r.PetID, r.Fingerprint, r.CreatedAt.Unix()); err != nil {
				return err
			}
		}
		for k := range intact(ctx, from.Keys, &broken) {
			if _, err := tx.Exec(insertKey, keyValues(k)...); err != nil {
				return err
			}
		}
		if broken != nil {
			return errors.New("the snapshot ended early")
		}
		if from.LastID == 0 {
			return nil
		}
		_, err := tx.Exec(setLastID, from.LastID)
		return err
	})
	if broken != nil {
		return broken
	}
	return err
}

// intact yields the values of all up to the first error or the end of ctx, which it
// stores in broken. It yields none if there is an error already.
func intact[T any](ctx context.Context, all iter.Seq2[T, error], broken *error) iter.Seq[T] {
	return func(yield func(T) bool) {
		if *broken != nil {
			return
		}
		for v, err := range all {
			if err == nil && ctx.Err() != nil {
				err = gaveUp(ctx.Err())
			}
			if err != nil {
				*broken = err
				return
			}
			if !yield(v) {
				return
			}
		}
	}
}
