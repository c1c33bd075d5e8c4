package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/petstore/engine/db/sqlite"
	"example.com/petstore/engine/keys"
)

const keyColumns = "id, name, hash, read_only, created_at, expires_at, revoked_at, used_at"

var (
	insertKey  = Schema.Statement("INSERT INTO keys (" + keyColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
	selectKey  = Schema.Statement("SELECT " + keyColumns + " FROM keys WHERE id = ?")
	selectKeys = Schema.Statement("SELECT " + keyColumns + " FROM keys ORDER BY created_at, rowid")
	revokeKey  = Schema.Statement("UPDATE keys SET revoked_at = coalesce(revoked_at, ?)" +
		" WHERE id = ? RETURNING " + keyColumns)
	recordUse = Schema.Statement("UPDATE keys SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at < ?1)")
)

func (s *Store) CreateKey(ctx context.Context, k keys.Key) error {
	return s.Write(ctx, func(conn sqlite.Conn) error {
		_, err := conn.Stmt(insertKey).Exec(k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt.Unix(),
			seconds(k.ExpiresAt), seconds(k.RevokedAt), seconds(k.UsedAt))
		return err
	})
}

func (s *Store) Key(ctx context.Context, id string) (k keys.Key, err error) {
	err = s.Read(ctx, func(conn sqlite.Conn) error {
		k, err = scanKey(conn.Stmt(selectKey).QueryRow(id))
		return err
	})
	return k, err
}

func (s *Store) Keys(ctx context.Context) (all []keys.Key, err error) {
	err = s.Read(ctx, func(conn sqlite.Conn) error {
		all, err = allKeys(conn)
		return err
	})
	return all, err
}

func allKeys(conn sqlite.Conn) (all []keys.Key, err error) {
	rows, err := conn.Stmt(selectKeys).Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		k, err := scanKey(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, rows.Err()
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k keys.Key, err error) {
	err = s.Write(ctx, func(conn sqlite.Conn) error {
		k, err = scanKey(conn.Stmt(revokeKey).QueryRow(at.Unix(), id))
		return err
	})
	return k, err
}

func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	return s.Write(ctx, func(conn sqlite.Conn) error {
		for id, at := range used {
			if _, err := conn.Stmt(recordUse).Exec(at.Unix(), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// scanKey returns the key in a *sql.Row or *sql.Rows, or keys.ErrNotFound.
func scanKey(row interface{ Scan(columns ...any) error }) (k keys.Key, err error) {
	var hash []byte
	var created int64
	var expires, revoked, used sql.NullInt64
	err = row.Scan(&k.ID, &k.Name, &hash, &k.ReadOnly, &created, &expires, &revoked, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return k, keys.ErrNotFound
	}
	copy(k.Hash[:], hash) // the schema demands the same length
	k.CreatedAt = time.Unix(created, 0).UTC()
	k.ExpiresAt, k.RevokedAt, k.UsedAt = timeOrZero(expires), timeOrZero(revoked), timeOrZero(used)
	return k, err
}

func seconds(t time.Time) sql.NullInt64 { return sql.NullInt64{Int64: t.Unix(), Valid: !t.IsZero()} }

func timeOrZero(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(n.Int64, 0).UTC()
}
