package sqlite

import (
	"context"
	"database/sql"
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

// Fill implements store.Store. Other writers wait until it is done. Only an error of from
// ends it early, such as the end of a context. The next write, or Close, copies the log.
func (s *Store) Fill(_ context.Context, from store.Snapshot) error {
	return s.whileOpen(func() error {
		return s.transact(func(tx *sql.Tx) error { return s.fill(tx, from) })
	})
}

func (s *Store) fill(tx *sql.Tx, from store.Snapshot) error {
	var filled bool
	if err := tx.QueryRow(isFilled).Scan(&filled); err != nil {
		return err
	}
	if filled {
		return store.ErrNotEmpty
	}
	for p, err := range from.Pets {
		if err == nil {
			_, err = s.insert(tx, p)
		}
		if err != nil {
			return err
		}
	}
	for r, err := range from.Requests {
		if err == nil {
			_, err = tx.Exec(insertRequest, r.Key, r.KeyID, r.PetID, r.Fingerprint, r.CreatedAt.Unix())
		}
		if err != nil {
			return err
		}
	}
	for k, err := range from.Keys {
		if err == nil {
			_, err = tx.Exec(insertKey, keyValues(k)...)
		}
		if err != nil {
			return err
		}
	}
	if from.LastID == 0 {
		return nil
	}
	_, err := tx.Exec(setLastID, from.LastID)
	return err
}
