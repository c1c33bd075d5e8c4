package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/pets"
)

// petColumns are the columns of a pet beside id, each with its field.
var petColumns = []struct {
	name  string
	field func(*pets.NewPet) any // a pointer
}{
	{"name", func(p *pets.NewPet) any { return &p.Name }},
	{"category_id", func(p *pets.NewPet) any { return &p.CategoryID }},
	{"status", func(p *pets.NewPet) any { return (*string)(&p.Status) }},
}

var (
	columns, parameters = columnList() // name, category_id, status and $1, $2, $3

	insertPet = "INSERT INTO pets (" + columns + ") VALUES (" + parameters + ") RETURNING id"

	insertIdempotencyKey = "INSERT INTO idempotency_keys (key, key_id, fingerprint, pet_id) VALUES ($1, $2, $3, nextval('pets_id_seq'))"
	insertItsPet         = "INSERT INTO pets (id, " + columns + ") OVERRIDING SYSTEM VALUE VALUES (currval('pets_id_seq'), " + parameters + ") RETURNING id"

	// These also write to the write-ahead log, so that their commits wait until a
	// standby has the rows: the wait after the insert may have been canceled.
	logged               = ", pg_logical_emit_message(true, '" + name + "', '')"
	selectIdempotencyKey = "SELECT pet_id, fingerprint" + logged + " FROM idempotency_keys WHERE key = $1 AND key_id = $2"
	selectMade           = "SELECT id, " + columns + logged + " FROM pets WHERE id = $1"

	selectPet          = "SELECT id, " + columns + " FROM pets WHERE id = $1"
	selectPets         = "SELECT id, " + columns + " FROM pets WHERE id > $1 ORDER BY id LIMIT $2"
	selectPetsByStatus = "SELECT id, " + columns + " FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3"

	// Rows that another replica is deleting are skipped.
	deleteIdempotencyKeys = `DELETE FROM idempotency_keys WHERE (key, key_id) IN
(SELECT key, key_id FROM idempotency_keys WHERE created_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED)`
)

// columnList returns the names of petColumns and the parameters for their values.
func columnList() (names, parameters string) {
	for i, c := range petColumns {
		if i > 0 {
			names, parameters = names+", ", parameters+", "
		}
		names += c.name
		parameters += fmt.Sprintf("$%d", i+1)
	}
	return names, parameters
}

// values returns the fields of p for petColumns, as arguments and destinations.
func values(p *pets.NewPet) []any {
	all := make([]any, len(petColumns))
	for i, c := range petColumns {
		all[i] = c.field(p)
	}
	return all
}

// idAndValues returns the identifier and the fields of p.
func idAndValues(p *pets.Pet) []any { return append([]any{&p.ID}, values(&p.NewPet)...) }

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet, key pets.IdempotencyKey) (made pets.Pet, err error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if err := key.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if key.IsZero() {
		made.NewPet = p
		err = s.writeOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, insertPet, values(&p)...).Scan(&made.ID)
		})
	} else {
		var fingerprint []byte // of the first request with the key
		err = s.write(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
			made, fingerprint, err = s.createOnce(ctx, c, p, key)
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
func (s *Store) createOnce(ctx context.Context, c *pgx.Conn, p pets.NewPet, key pets.IdempotencyKey) (made pets.Pet, fingerprint []byte, err error) {
	fingerprint = p.Fingerprint()
	var id int64
	var b pgx.Batch
	if s.citus {
		b.Queue("BEGIN")
		b.Queue("SET LOCAL client_min_messages = debug1") // see keepWarning
	}
	b.Queue(insertIdempotencyKey, key.Key, key.KeyID, fingerprint)
	b.Queue(insertItsPet, values(&p)...).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
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
		return pets.Pet{ID: id, NewPet: p}, fingerprint, err
	}
	err = c.QueryRow(ctx, selectIdempotencyKey, key.Key, key.KeyID).Scan(&id, &fingerprint, nil)
	if err == nil {
		err = c.QueryRow(ctx, selectMade, id).Scan(append(idAndValues(&made), nil)...)
	}
	if errors.Is(err, pgx.ErrNoRows) && s.citus {
		err = errUnsettled
	}
	return made, fingerprint, err
}

func (s *Store) ForgetIdempotencyKeys(ctx context.Context, before time.Time) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		tag, err := c.Exec(ctx, deleteIdempotencyKeys, before)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}

func (s *Store) Pet(ctx context.Context, id int64) (p pets.Pet, err error) {
	err = s.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, selectPet, id).Scan(idAndValues(&p)...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = pets.NoSuchPet(id)
	}
	return p, err
}

// Pets implements pets.Store. It selects one row more than the page may hold, to
// learn whether there is a next page.
//
// A walk may miss a pet that is committed behind it, because identifiers are
// assigned before the commit. Such a pet was not acknowledged when the walk
// began.
func (s *Store) Pets(ctx context.Context, q pets.Query) (page pets.Page, err error) {
	query, args := selectPets, []any{q.After, q.Limit + 1}
	if q.Status != "" {
		query, args = selectPetsByStatus, []any{string(q.Status), q.After, q.Limit + 1}
	}
	err = s.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		page = pets.Page{}
		rows, _ := c.Query(ctx, query, args...) // rows.Err returns the error
		defer rows.Close()
		for rows.Next() {
			var p pets.Pet
			if err := rows.Scan(idAndValues(&p)...); err != nil {
				return err
			}
			if !page.Add(p, q.Limit) {
				return nil
			}
		}
		return rows.Err()
	})
	if err != nil {
		return pets.Page{}, err
	}
	return page, nil
}
