package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

const (
	selectLastID   = "SELECT max((SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'pets'), (SELECT coalesce(max(id), 0) FROM pets))"
	selectRequests = "SELECT key, key_id, pet_id, fingerprint, created_at FROM idempotency_keys ORDER BY pet_id"
	insertRequest  = "INSERT INTO idempotency_keys (key, key_id, pet_id, fingerprint, created_at) VALUES (?, ?, ?, ?, ?)"
	setLastID      = "DELETE FROM sqlite_sequence WHERE name = 'pets'; INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)"
	isFilled       = `SELECT EXISTS (SELECT 1 FROM pets) OR EXISTS (SELECT 1 FROM keys) OR EXISTS (SELECT 1 FROM idempotency_keys)
		OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets' AND seq > 0)`
)

// Snapshot implements store.Store.
func (s *Store) Snapshot(ctx context.Context, f func(store.Snapshot) error) error {
	var stopped error // f's error
	err := s.read(ctx, func() error {
		tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		var last int64
		if err := tx.QueryRow(selectLastID).Scan(&last); err != nil {
			return err
		}
		stopped = f(store.Snapshot{
			LastID:   last,
			Pets:     queried(tx, "SELECT "+idAndColumns()+" FROM pets ORDER BY id", scanPet),
			Requests: queried(tx, selectRequests, scanRequest),
			Keys:     queried(tx, selectKeys, scanKey),
		})
		return nil
	})
	if err != nil {
		return err
	}
	return stopped
}

// queried yields the rows of a query, up to the first error.
func queried[T any](tx *sql.Tx, query string, scan func(scanner, *T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, err := tx.Query(query)
		if err != nil {
			yield(*new(T), classify(err))
			return
		}
		for v, err := range scanned(rows, scan) {
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
	var refused error // an error of the snapshot, not of the database
	err := s.writer.writeAlone(ctx, func(tx *tx) error {
		var filled bool
		if err := tx.QueryRow(isFilled).Scan(&filled); err != nil {
			return err
		}
		if filled {
			return store.ErrNotEmpty
		}
		err := insertAll(ctx, from.ValidPets(), &refused, func(p pets.Pet) error {
			_, err := tx.create(p)
			return err
		})
		if err != nil {
			return err
		}
		if from.LastID > 0 {
			if _, err := tx.Exec(setLastID, from.LastID); err != nil {
				return err
			}
		}
		err = insertAll(ctx, from.Requests, &refused, func(r pets.KeyedRequest) error {
			_, err := tx.Exec(insertRequest, r.Key, r.KeyID, r.PetID, r.Fingerprint, r.CreatedAt.Unix())
			return err
		})
		if err != nil {
			return err
		}
		return insertAll(ctx, from.Keys, &refused, func(k keys.Key) error {
			_, err := tx.Exec(insertKey, keyValues(k)...)
			return err
		})
	})
	if refused != nil {
		return refused
	}
	return err
}

// insertAll calls insert for each of all. It sets refused to an error of all or of ctx.
func insertAll[T any](ctx context.Context, all iter.Seq2[T, error], refused *error, insert func(T) error) error {
	for v, err := range all {
		if err == nil && ctx.Err() != nil {
			err = gaveUp(ctx.Err())
		}
		if err != nil {
			*refused = err
			return errors.New("the snapshot ended early")
		}
		if err := insert(v); err != nil {
			return err
		}
	}
	return nil
}
