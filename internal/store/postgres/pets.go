package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/pets"
)

const (
	petColumns = "id, name, category_id, status"

	insertPet = "INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING id"

	insertIdempotencyKey = "INSERT INTO idempotency_keys (key, key_id, fingerprint, pet_id) VALUES ($1, $2, $3, nextval('pets_id_seq'))"
	insertItsPet         = "INSERT INTO pets (name, category_id, status, id) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, currval('pets_id_seq')) RETURNING id"

	// These also write to the write-ahead log, so that their commits wait until a
	// standby has the rows: the wait after the insert may have been canceled.
	logged               = ", pg_logical_emit_message(true, '" + name + "', '')"
	selectIdempotencyKey = "SELECT pet_id, fingerprint" + logged + " FROM idempotency_keys WHERE key = $1 AND key_id = $2"
	selectMade           = "SELECT " + petColumns + logged + " FROM pets WHERE id = $1"

	selectPet          = "SELECT " + petColumns + " FROM pets WHERE id = $1"
	selectPets         = "SELECT " + petColumns + " FROM pets WHERE id > $1 ORDER BY id LIMIT $2"
	selectPetsByStatus = "SELECT " + petColumns + " FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3"
)

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (made pets.Pet, err error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if p.Idempotency.IsZero() {
		err = s.writeOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, insertPet, p.Name, p.CategoryID, string(p.Status)).Scan(&made.ID)
		})
		made = p.WithID(made.ID)
	} else {
		var fingerprint []byte // of the first request with the key
		err = s.write(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
			made, fingerprint, err = s.createOnce(ctx, c, p)
			return err
		})
		if errors.Is(err, pgx.ErrNoRows) {
			err = pets.ErrRemoved
		} else if err == nil {
			err = p.CheckRepeat(fingerprint)
		}
	}
	if err != nil {
		return pets.Pet{}, err
	}
	return made, nil
}

// createOnce creates p unless its idempotency key has created a pet, which it then
// returns with the fingerprint of that request, or pgx.ErrNoRows if it was removed.
// The batch is a transaction by itself, but on Citus, where its rows may be on
// different nodes.
func (s *Store) createOnce(ctx context.Context, c *pgx.Conn, p pets.NewPet) (made pets.Pet, fingerprint []byte, err error) {
	key, keyID, fingerprint := p.Idempotency.Key, p.Idempotency.KeyID, p.Fingerprint()
	var id int64
	var b pgx.Batch
	if s.citus {
		b.Queue("BEGIN")
		b.Queue("SET LOCAL client_min_messages = debug1") // see keepWarning
	}
	b.Queue(insertIdempotencyKey, key, keyID, fingerprint)
	b.Queue(insertItsPet, p.Name, p.CategoryID, string(p.Status)).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
	if s.citus {
		b.Queue("COMMIT")
	}
	err = c.SendBatch(ctx, &b).Close()
	if err != nil && c.PgConn().TxStatus() == 'E' { // the COMMIT was not executed
		if outcomeOf(err) == maybeExecuted {
			err = fmt.Errorf("%w: %w", errRolledBack, err)
		}
		_, _ = c.Exec(ctx, "ROLLBACK")
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "23505" { // unique_violation
		return p.WithID(id), fingerprint, err
	}
	err = c.QueryRow(ctx, selectIdempotencyKey, key, keyID).Scan(&id, &fingerprint, nil)
	if err == nil {
		err = c.QueryRow(ctx, selectMade, id).Scan(append(fields(&made), nil)...)
	}
	if errors.Is(err, pgx.ErrNoRows) && s.citus {
		err = errUnsettled
	}
	return made, fingerprint, err
}

func (s *Store) Pet(ctx context.Context, id int64) (p pets.Pet, err error) {
	err = s.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, selectPet, id).Scan(fields(&p)...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = pets.NoSuchPet(id)
	}
	return p, err
}

// Pets implements pets.Store. It selects one row more than the page holds, to
// learn whether there is a next page.
//
// A walk may miss a pet that is committed behind it, because identifiers are
// assigned before the commit. Such a pet was not acknowledged when the walk
// began.
func (s *Store) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	query, args := selectPets, []any{q.After, q.Limit + 1}
	if q.Status != "" {
		query, args = selectPetsByStatus, []any{string(q.Status), q.After, q.Limit + 1}
	}
	var found []pets.Pet
	err := s.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, _ := c.Query(ctx, query, args...) // ForEachRow returns the error
		found = make([]pets.Pet, 0, q.Limit+1)
		var p pets.Pet
		_, err := pgx.ForEachRow(rows, fields(&p), func() error {
			found = append(found, p)
			return nil
		})
		return err
	})
	if err != nil {
		return pets.Page{}, err
	}
	return pets.Page{Pets: found[:min(q.Limit, len(found))], More: len(found) > q.Limit}, nil
}

// fields returns the destinations for scanning petColumns.
func fields(p *pets.Pet) []any {
	return []any{&p.ID, &p.Name, &p.CategoryID, (*string)(&p.Status)}
}
