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
	selectLastID = `SELECT max((SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'pets'),
		(SELECT coalesce(max(id), 0) FROM pets))`
	selectRequests = "SELECT key, key_id, pet_id, fingerprint, created_at FROM idempotency_keys ORDER BY pet_id"
	insertRequest  = "INSERT INTO idempotency_keys (key, key_id, pet_id, fingerprint, created_at) VALUES (?, ?, ?, ?, ?)"
	setLastID      = "DELETE FROM sqlite_sequence WHERE name = 'pets'; INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)"
	isFilled       = `SELECT EXISTS (SELECT 1 FROM pets) OR EXISTS (SELECT 1 FROM keys) OR EXISTS (SELECT 1 FROM idempotency_keys)
		OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets' AND seq > 0)`
)

var selectAllPets = "SELECT " + idAndColumns() + " FROM pets ORDER BY id"

// Keys implements store.Reader.
func (r *Reader) Keys(ctx context.Context) ([]keys.Key, error) {
	return collect(rowsOf(ctx, r.db, scanKey, selectKeys))
}

// Snapshot implements store.Reader.
func (r *Reader) Snapshot(ctx context.Context, f func(store.Snapshot) error) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return classify(err)
	}
	defer tx.Rollback()
	var last int64
	if err := tx.QueryRowContext(ctx, selectLastID).Scan(&last); err != nil {
		return classify(err)
	}
	return f(store.Snapshot{
		LastID:   last,
		Pets:     rowsOf(ctx, tx, scanPet, selectAllPets),
		Requests: rowsOf(ctx, tx, scanRequest, selectRequests),
		Keys:     rowsOf(ctx, tx, scanKey, selectKeys),
	})
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
	err := s.writer.writeAlone(ctx, func(tx *sql.Tx) error {
		var filled bool
		if err := tx.QueryRow(isFilled).Scan(&filled); err != nil {
			return err
		}
		if filled {
			return store.ErrNotEmpty
		}
		err := insertAll(ctx, from.ValidPets(), &broken, func(p pets.Pet) error {
			_, err := s.insert(tx, p)
			return err
		})
		if err != nil {
			return err
		}
		err = insertAll(ctx, from.Requests, &broken, func(r pets.KeyedRequest) error {
			_, err := tx.Exec(insertRequest, r.Key, r.KeyID, r.PetID, r.Fingerprint, r.CreatedAt.Unix())
			return err
		})
		if err != nil {
			return err
		}
		err = insertAll(ctx, from.Keys, &broken, func(k keys.Key) error {
			_, err := tx.Exec(insertKey, keyValues(k)...)
			return err
		})
		if err != nil || from.LastID == 0 {
			return err
		}
		_, err = tx.Exec(setLastID, from.LastID)
		return err
	})
	if broken != nil {
		return broken
	}
	return err
}

// insertAll calls insert with each value of all. It sets broken to the first error of all,
// or to the end of ctx.
func insertAll[T any](ctx context.Context, all iter.Seq2[T, error], broken *error, insert func(T) error) error {
	for v, err := range all {
		if err == nil && ctx.Err() != nil {
			err = gaveUp(ctx.Err())
		}
		if err != nil {
			*broken = err
			return errors.New("the snapshot broke off")
		}
		if err := insert(v); err != nil {
			return err
		}
	}
	return nil
}
