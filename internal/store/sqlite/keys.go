package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/petstore/internal/keys"
)

const (
	keyColumns = "id, name, hash, read_only, created_at, expires_at, revoked_at, used_at"
	insertKey  = "INSERT INTO keys (" + keyColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
	selectKey  = "SELECT " + keyColumns + " FROM keys WHERE id = ?"
	selectKeys = "SELECT " + keyColumns + " FROM keys ORDER BY created_at, rowid"
	revokeKey  = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? RETURNING " + keyColumns
	recordUse  = "UPDATE keys SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at < ?1)"
)

func (s *Store) CreateKey(ctx context.Context, k keys.Key) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(insertKey, keyValues(k)...)
		return err
	})
}

// keyValues returns the values of keyColumns.
func keyValues(k keys.Key) []any {
	seconds := func(t time.Time) sql.NullInt64 { return sql.NullInt64{Int64: t.Unix(), Valid: !t.IsZero()} }
	return []any{
		k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt.Unix(),
		seconds(k.ExpiresAt), seconds(k.RevokedAt), seconds(k.UsedAt),
	}
}

func (s *Store) Key(ctx context.Context, id string) (k keys.Key, err error) {
	err = s.read(ctx, func(selects statements) error { return scanKey(selects[selectKey].QueryRow(id), &k) })
	if errors.Is(err, sql.ErrNoRows) {
		err = keys.ErrNotFound
	}
	return k, err
}

func (s *Store) Keys(ctx context.Context) (all []keys.Key, err error) {
	err = s.read(ctx, func(selects statements) error {
		all, err = collect(rowsOf(context.Background(), selects, scanKey, selectKeys))
		return err
	})
	return all, err
}

// Keys implements store.Reader.
func (r *Reader) Keys(ctx context.Context) ([]keys.Key, error) {
	return collect(rowsOf(ctx, r.db, scanKey, selectKeys))
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k keys.Key, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		err := scanKey(tx.QueryRow(revokeKey, at.Unix(), id), &k)
		if errors.Is(err, sql.ErrNoRows) {
			err = keys.ErrNotFound
		}
		return err
	})
	return k, err
}

func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		for id, at := range used {
			if _, err := tx.Exec(recordUse, at.Unix(), id); err != nil {
				return err
			}
		}
		return nil
	})
}

func scanKey(row scanner, k *keys.Key) error {
	var hash []byte
	var created int64
	var expires, revoked, used sql.NullInt64
	if err := row.Scan(&k.ID, &k.Name, &hash, &k.ReadOnly, &created, &expires, &revoked, &used); err != nil {
		return err
	}
	copy(k.Hash[:], hash) // as long, as the schema demands
	k.CreatedAt = time.Unix(created, 0).UTC()
	k.ExpiresAt, k.RevokedAt, k.UsedAt = timeOrZero(expires), timeOrZero(revoked), timeOrZero(used)
	return nil
}

func timeOrZero(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(n.Int64, 0).UTC()
}
