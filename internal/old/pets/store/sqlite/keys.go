package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/petstore/internal/old/pets"
)

// CreateKey implements pets.KeyStore.
func (s *Store) CreateKey(ctx context.Context, k pets.Key) error {
	return s.write(ctx, func(w *writer) error { return storeKey(w, k) })
}

func storeKey(w *writer, k pets.Key) error {
	_, err := w.insertKey.Exec(k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt.Unix(), unixOrNull(k.ExpiresAt))
	return err
}

// Key implements pets.KeyStore.
func (s *Store) Key(ctx context.Context, id string) (k pets.Key, err error) {
	err = s.readKey(ctx, func(r *reader) error { return scanKey(r.key.QueryRow(id), &k) })
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.NoSuchKey(id)
	}
	return k, err
}

// Keys implements pets.KeyStore.
func (s *Store) Keys(ctx context.Context) (keys []pets.Key, err error) {
	err = s.read(ctx, func(r *reader) error {
		rows, err := r.keys.Query()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var k pets.Key
			if err := scanKey(rows, &k); err != nil {
				return err
			}
			keys = append(keys, k)
		}
		return rows.Err()
	})
	return keys, err
}

// RevokeKey implements pets.KeyStore. The key is read in the transaction
// that changes it: a read of its own could fail once the change is made.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k pets.Key, err error) {
	found := true
	err = s.write(ctx, func(w *writer) error {
		err := scanKey(w.revokeKey.QueryRow(at.Unix(), id), &k)
		if errors.Is(err, sql.ErrNoRows) {
			found, err = false, nil
		}
		return err
	})
	switch {
	case err != nil:
		return pets.Key{}, err
	case !found:
		return pets.Key{}, pets.NoSuchKey(id)
	}
	return k, nil
}

// RotateKey implements pets.KeyStore. Its two statements are a transaction of their
// own: where the second fails, the first must leave nothing behind.
func (s *Store) RotateKey(ctx context.Context, id string, successor pets.Key, end time.Time) (old pets.Key, err error) {
	if s.committer == nil {
		return pets.Key{}, errReadOnly
	}
	found := true
	err = s.committer.writeExclusive(ctx, func(w *writer) error {
		err := scanKey(w.rotateKey.QueryRow(end.Unix(), id, successor.CreatedAt.Unix()), &old)
		if errors.Is(err, sql.ErrNoRows) {
			found = false
			return nil
		}
		if err != nil {
			return err
		}
		return storeKey(w, successor)
	})
	switch {
	case err != nil:
		return pets.Key{}, err
	case !found:
		return pets.Key{}, pets.NoSuchKey(id)
	}
	return old, nil
}

// RecordKeyUse implements pets.KeyStore.
func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	return s.write(ctx, func(w *writer) error {
		for id, at := range used {
			if _, err := w.recordUse.Exec(at.Unix(), id, int64(pets.ClockError/time.Second)); err != nil {
				return err
			}
		}
		return nil
	})
}
