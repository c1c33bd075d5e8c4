package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/petstore/internal/keys"
)

var (
	keyColumns = []string{"id", "name", "hash", "read_only", "created_at", "expires_at", "revoked_at", "used_at"}
	keyList    = strings.Join(keyColumns, ", ")
	insertKey  = "INSERT INTO SCHEMA.keys (" + keyList + ") VALUES (" + parameterList(len(keyColumns)) + ")"
	selectKey  = "SELECT " + keyList + " FROM SCHEMA.keys WHERE id = $1"
	selectKeys = "SELECT " + keyList + " FROM SCHEMA.keys ORDER BY created_at, stored"
	revokeKey  = "UPDATE SCHEMA.keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING " + keyList
	recordUse  = `UPDATE SCHEMA.keys AS stored SET used_at = used.at FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
WHERE stored.id = used.id AND (stored.used_at IS NULL OR stored.used_at < used.at)`
)

func (s *Store) CreateKey(ctx context.Context, k keys.Key) error {
	return s.writeOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, s.sql(insertKey), keyValues(&k)...)
		return err
	})
}

// keyValues returns the values of keyColumns.
func keyValues(k *keys.Key) []any {
	expires, revoked, used := timestamp(k.ExpiresAt), timestamp(k.RevokedAt), timestamp(k.UsedAt)
	return []any{k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt, expires, revoked, used}
}

// timestamp returns NULL for the zero time.
func timestamp(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}

func (s *Store) Key(ctx context.Context, id string) (k keys.Key, err error) {
	err = s.read(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		k, err = scanKey(c.QueryRow(ctx, s.sql(selectKey), id))
		return err
	})
	return k, err
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k keys.Key, err error) {
	err = s.write(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		k, err = scanKey(c.QueryRow(ctx, s.sql(revokeKey), id, at.UTC().Truncate(time.Second)))
		return err
	})
	return k, err
}

func (s *Store) Keys(ctx context.Context) (all []keys.Key, err error) {
	err = s.read(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		rows, _ := c.Query(ctx, s.sql(selectKeys)) // CollectRows returns the error
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
	return s.write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, s.sql(recordUse), ids, times)
		return err
	})
}

// scanKey scans keyColumns. Without a row, it returns keys.ErrNotFound.
func scanKey(row pgx.Row) (k keys.Key, err error) {
	var hash []byte
	var created, expires, revoked, used pgtype.Timestamptz // the zero time if NULL
	err = row.Scan(&k.ID, &k.Name, &hash, &k.ReadOnly, &created, &expires, &revoked, &used)
	copy(k.Hash[:], hash) // the schema allows no other length
	k.CreatedAt, k.ExpiresAt = created.Time.UTC(), expires.Time.UTC()
	k.RevokedAt, k.UsedAt = revoked.Time.UTC(), used.Time.UTC()
	if errors.Is(err, pgx.ErrNoRows) {
		err = keys.ErrNotFound
	}
	return k, err
}
