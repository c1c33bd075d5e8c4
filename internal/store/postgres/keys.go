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
	keyColumns = "id, name, hash, read_only, created_at, expires_at, revoked_at, used_at"
	insertKey  = "INSERT INTO keys (id, name, hash, read_only, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING"
	touchKey   = "UPDATE keys SET name = name WHERE id = $1 AND hash = $2"
	revokeKey  = "UPDATE keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING " + keyColumns
	selectKey  = "SELECT " + keyColumns + " FROM keys WHERE id = $1"
	selectKeys = "SELECT " + keyColumns + " FROM keys ORDER BY created_at, stored"
	// recordUse locks the rows in one order, since every replica does it: two
	// that lock the same rows in two orders would wait for each other.
	recordUse = `WITH later AS (
	SELECT keys.id, used.at FROM keys JOIN unnest($1::text[], $2::timestamptz[]) AS used (id, at) ON keys.id = used.id
	WHERE keys.used_at IS NULL OR keys.used_at < used.at ORDER BY keys.id FOR NO KEY UPDATE OF keys
) UPDATE keys SET used_at = later.at FROM later WHERE keys.id = later.id`
)

// CreateKey implements petstore.KeyStore. A key that is there is an error,
// unless a try before may have stored it: then it is the same if its hash is.
func (s *Store) CreateKey(ctx context.Context, k petstore.Key) error {
	var stored bool
	tries := 0
	_, err := write(ctx, s, statement{
		sql:  insertKey,
		args: []any{k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt, timeOrNull(k.ExpiresAt)},
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

// RecordKeyUse implements petstore.KeyStore.
func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	ids, times := make([]string, 0, len(used)), make([]time.Time, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, id), append(times, at.UTC().Truncate(time.Second))
	}
	_, err := write(ctx, s, statement{
		sql:  recordUse,
		args: []any{ids, times},
		take: func(r pgx.BatchResults) error {
			_, err := r.Exec()
			return err
		},
	}, &struct{}{})
	return err
}

// scanKey reads a key, or returns NotFound for the one with that id.
func scanKey(row pgx.Row, id string, k *petstore.Key) error {
	var hash []byte
	var expires, revoked, used *time.Time
	err := row.Scan(&k.ID, &k.Name, &hash, &k.ReadOnly, &k.CreatedAt, &expires, &revoked, &used)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return petstore.NoSuchKey(id)
	case err != nil:
		return err
	case copy(k.Hash[:], hash) != len(k.Hash):
		return &petstore.Error{Kind: petstore.Internal, Message: fmt.Sprintf("the hash of key %q has %d bytes", k.ID, len(hash))}
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.UsedAt = k.CreatedAt.UTC(), timeOrZero(expires), timeOrZero(revoked), timeOrZero(used)
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
