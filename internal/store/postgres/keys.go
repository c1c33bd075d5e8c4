package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/petstore/engine/keys"
)

const (
	keyList = "id, name, hash, read_only, created_at, expires_at, revoked_at, used_at" // as scanKey reads them

	insertKey  = "INSERT INTO petstore.keys (" + keyList + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	selectKey  = "SELECT " + keyList + " FROM petstore.keys WHERE id = $1"
	selectKeys = "SELECT " + keyList + " FROM petstore.keys ORDER BY created_at, stored"
	revokeKey  = "UPDATE petstore.keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING " + keyList
	recordUse  = `UPDATE petstore.keys AS stored SET used_at = used.at
FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
WHERE stored.id = used.id AND (stored.used_at IS NULL OR stored.used_at < used.at)`
)

func (s *Store) CreateKey(ctx context.Context, k keys.Key) error {
	expires, revoked, used := timestamp(k.ExpiresAt), timestamp(k.RevokedAt), timestamp(k.UsedAt)
	return s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, insertKey, k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt, expires, revoked, used)
		return err
	})
}

// timestamp returns NULL for the zero time.
func timestamp(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}

func (s *Store) Key(ctx context.Context, id string) (k keys.Key, err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		k, err = scanKey(c.QueryRow(ctx, selectKey, id))
		return err
	})
	return k, err
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k keys.Key, err error) {
	err = s.Write(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		k, err = scanKey(c.QueryRow(ctx, revokeKey, id, at.UTC().Truncate(time.Second)))
		return err
	})
	return k, err
}

func (s *Store) Keys(ctx context.Context) (all []keys.Key, err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		rows, _ := c.Query(ctx, selectKeys) // CollectRows returns the error
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (keys.Key, error) { return scanKey(row) })
		return err
	})
	return all, err
}

func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	ids := slices.Sorted(maps.Keys(used))
	times := make([]time.Time, len(ids))
	for i, id := range ids {
		times[i] = used[id].UTC().Truncate(time.Second)
	}
	return s.Write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, recordUse, ids, times)
		return err
	})
}

// scanKey scans keyList. Without a row, it returns keys.ErrNotFound.
func scanKey(row pgx.Row) (k keys.Key, err error) {
	var hash []byte
	var created, expires, revoked, used pgtype.Timestamptz // the zero time if NULL
	err = row.Scan(&k.ID, &k.Name, &hash, &k.ReadOnly, &created, &expires, &revoked, &used)
	if errors.Is(err, pgx.ErrNoRows) {
		return k, keys.ErrNotFound
	}
	copy(k.Hash[:], hash) // the schema allows no other length
	k.CreatedAt, k.ExpiresAt = created.Time.UTC(), expires.Time.UTC()
	k.RevokedAt, k.UsedAt = revoked.Time.UTC(), used.Time.UTC()
	return k, err
}
