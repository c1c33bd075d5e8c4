package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/postgres/primary"
)

// insertKey, revokeKey and rotateKey touch their row also the second time (insertKey
// by touchKey), so that they wait for the standby then too.
const (
	keyColumns = "id, name, hash, read_only, created_at, expires_at, revoked_at, used_at"
	insertKey  = "INSERT INTO keys (id, name, hash, read_only, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING"
	touchKey   = "UPDATE keys SET name = name WHERE id = $1 AND hash = $2"
	revokeKey  = "UPDATE keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING " + keyColumns
	// rotateKey is one statement, so it does all or nothing. An earlier attempt may have
	// stored the successor, and the old key may have expired by that. Where another key
	// has the successor's ID, the statement does nothing.
	rotateKey = `WITH old AS (
	UPDATE keys SET expires_at = least(expires_at, $2) WHERE id = $1 AND revoked_at IS NULL
	AND (expires_at IS NULL OR expires_at > $7 OR EXISTS (SELECT FROM keys WHERE id = $3 AND hash = $5))
	AND NOT EXISTS (SELECT FROM keys WHERE id = $3 AND hash <> $5)
	RETURNING ` + keyColumns + `
), successor AS (
	INSERT INTO keys (id, name, hash, read_only, created_at, expires_at) SELECT $3, $4, $5, $6, $7, $8 FROM old ON CONFLICT (id) DO NOTHING
) SELECT ` + keyColumns + ` FROM old`
	selectKey  = "SELECT " + keyColumns + " FROM keys WHERE id = $1"
	selectKeys = "SELECT " + keyColumns + " FROM keys ORDER BY created_at, stored"
	// recordUse locks the rows in one order, since every replica does it: two
	// that lock the same rows in two orders would wait for each other.
	recordUse = `WITH later AS (
	SELECT keys.id, used.at FROM keys JOIN unnest($1::text[], $2::timestamptz[]) AS used (id, at) ON keys.id = used.id
	WHERE keys.used_at IS NULL OR keys.used_at < used.at OR keys.used_at > used.at + $3::interval ORDER BY keys.id FOR NO KEY UPDATE OF keys
) UPDATE keys SET used_at = later.at FROM later WHERE keys.id = later.id`
)

// CreateKey implements pets.KeyStore. A key with that ID is an error, unless
// an earlier attempt may have stored it: then the hash tells.
func (s *Store) CreateKey(ctx context.Context, k pets.Key) error {
	var stored bool
	attempts := 0
	err := s.db.Write(ctx, primary.Statement{
		SQL:  insertKey,
		Args: []any{k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt, timeOrNull(k.ExpiresAt)},
		Scan: func(r pgx.BatchResults) error {
			tag, err := r.Exec()
			stored = tag.RowsAffected() == 1
			attempts++
			return err
		},
		AfterCommit: func(ctx context.Context, c *pgx.Conn) error {
			if stored || attempts == 1 {
				return nil
			}
			tag, err := c.Exec(ctx, touchKey, k.ID, k.Hash[:])
			stored = tag.RowsAffected() == 1
			return err
		},
	})
	switch {
	case err != nil:
		return translate(err)
	case !stored:
		return &pets.Error{Kind: pets.Internal, Message: "there is a key with id " + k.ID + " already"}
	}
	return nil
}

// Key implements pets.KeyStore.
func (s *Store) Key(ctx context.Context, id string) (pets.Key, error) {
	return oneKey(ctx, s.db.Read, id, primary.Statement{SQL: selectKey, Args: []any{id}})
}

// RevokeKey implements pets.KeyStore.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (pets.Key, error) {
	return oneKey(ctx, s.db.Write, id, primary.Statement{SQL: revokeKey, Args: []any{id, at.UTC().Truncate(time.Second)}})
}

// RotateKey implements pets.KeyStore.
func (s *Store) RotateKey(ctx context.Context, id string, k pets.Key, end time.Time) (pets.Key, error) {
	return oneKey(ctx, s.db.Write, id, primary.Statement{
		SQL:  rotateKey,
		Args: []any{id, end.UTC().Truncate(time.Second), k.ID, k.Name, k.Hash[:], k.ReadOnly, k.CreatedAt, timeOrNull(k.ExpiresAt)},
	})
}

// oneKey runs a statement whose result is the key with that ID, or none.
func oneKey(ctx context.Context, run func(context.Context, primary.Statement) error, id string, st primary.Statement) (pets.Key, error) {
	var key pets.Key
	var found bool
	st.Scan = func(r pgx.BatchResults) error {
		err := scanKey(r.QueryRow(), &key)
		if found = err == nil; isNoRows(err) {
			return nil
		}
		return err
	}
	err := run(ctx, st)
	switch {
	case err != nil:
		return pets.Key{}, translate(err)
	case !found:
		return pets.Key{}, pets.NoSuchKey(id)
	}
	return key, nil
}

// Keys implements pets.KeyStore.
func (s *Store) Keys(ctx context.Context) ([]pets.Key, error) {
	var keys []pets.Key
	err := s.db.Read(ctx, primary.Statement{
		SQL: selectKeys,
		Scan: func(r pgx.BatchResults) error {
			rows, err := r.Query()
			if err != nil {
				return err
			}
			keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k pets.Key, err error) {
				err = scanKey(row, &k)
				return k, err
			})
			return err
		},
	})
	if err != nil {
		return nil, translate(err)
	}
	return keys, nil
}

// RecordKeyUse implements pets.KeyStore.
func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	ids, times := make([]string, 0, len(used)), make([]time.Time, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, id), append(times, at.UTC().Truncate(time.Second))
	}
	return translate(s.db.Write(ctx, primary.Statement{
		SQL:  recordUse,
		Args: []any{ids, times, pets.ClockError},
		Scan: func(r pgx.BatchResults) error {
			_, err := r.Exec()
			return err
		},
	}))
}

func scanKey(row pgx.Row, k *pets.Key) error {
	var hash []byte
	var expires, revoked, used *time.Time
	if err := row.Scan(&k.ID, &k.Name, &hash, &k.ReadOnly, &k.CreatedAt, &expires, &revoked, &used); err != nil {
		return err
	}
	copy(k.Hash[:], hash) // the schema allows no other length
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
