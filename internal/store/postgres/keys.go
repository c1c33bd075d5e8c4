package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/petstore"
)

// Both writes touch their row also the second time, so that they wait for the
// standby then too.
const (
	keyColumns = "id, name, hash, created_at, expires_at, revoked_at"
	insertKey  = "INSERT INTO keys (" + keyColumns + ") VALUES ($1, $2, $3, $4, $5, NULL) ON CONFLICT (id) DO NOTHING"
	touchKey   = "UPDATE keys SET name = name WHERE id = $1 AND hash = $2"
	revokeKey  = "UPDATE keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING " + keyColumns
	selectKey  = "SELECT " + keyColumns + " FROM keys WHERE id = $1"
	selectKeys = "SELECT " + keyColumns + " FROM keys ORDER BY created_at, stored"
)

// CreateKey implements petstore.KeyStore. A key that is there is an error,
// unless a try before may have stored it: then it is the same if its hash is.
func (s *Store) CreateKey(ctx context.Context, k petstore.Key) error {
	var stored bool
	tries := 0
	_, err := write(ctx, s, statement{
		sql:  insertKey,
		args: []any{k.ID, k.Name, k.Hash[:], k.CreatedAt, timeOrNull(k.ExpiresAt)},
		take: func(r pgx.BatchResults) error {
			tag, err := r.Exec()
			stored = tag.RowsAffected() == 1
			tries++
			return err
		},
		then: func(ctx context.Context, c *pgx.Conn) error {
			if !stored && tries > 1 {
				tag, err := c.Exec(ctx, touchKey, k.ID, k.Hash[:])
				if err != nil || tag.RowsAffected() == 1 {
					return err
				}
			}
			if !stored {
				return &petstore.Error{Kind: petstore.Internal, Message: "there is a key with id " + k.ID + " already"}
			}
			return nil
		},
	}, &stored)
	return err
}

// Key implements petstore.KeyStore.
func (s *Store) Key(ctx context.Context, id string) (petstore.Key, error) {
	var key petstore.Key
	return read(ctx, s, statement{
		sql:  selectKey,
		args: []any{id},
		take: func(r pgx.BatchResults) error { return scanKey(r.QueryRow(), id, &key) },
	}, &key)
}

// Keys implements petstore.KeyStore.
func (s *Store) Keys(ctx context.Context) ([]petstore.Key, error) {
	var keys []petstore.Key
	return read(ctx, s, statement{
		sql: selectKeys,
		take: func(r pgx.BatchResults) error {
			rows, err := r.Query()
			if err != nil {
				return err
			}
			defer rows.Close()
			keys = nil // of a try before
			for rows.Next() {
				var k petstore.Key
				if err := scanKey(rows, "", &k); err != nil {
					return err
				}
				keys = append(keys, k)
			}
			return rows.Err()
		},
	}, &keys)
}

// RevokeKey implements petstore.KeyStore.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (petstore.Key, error) {
	var key petstore.Key
	return write(ctx, s, statement{
		sql:  revokeKey,
		args: []any{id, at.UTC().Truncate(time.Second)},
		take: func(r pgx.BatchResults) error { return scanKey(r.QueryRow(), id, &key) },
	}, &key)
}

// scanKey reads a key, or returns NotFound for the one with that id.
func scanKey(row pgx.Row, id string, k *petstore.Key) error {
	var hash []byte
	var expires, revoked *time.Time
	err := row.Scan(&k.ID, &k.Name, &hash, &k.CreatedAt, &expires, &revoked)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return petstore.NoSuchKey(id)
	case err != nil:
		return err
	case copy(k.Hash[:], hash) != len(k.Hash):
		return &petstore.Error{Kind: petstore.Internal, Message: fmt.Sprintf("the hash of key %q has %d bytes", k.ID, len(hash))}
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = k.CreatedAt.UTC(), timeOrZero(expires), timeOrZero(revoked)
	return nil
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
