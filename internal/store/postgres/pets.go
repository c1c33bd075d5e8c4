package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/petstore"
)

// The statements that answer the operations, each in one round trip. They are
// exported for internal/bench/pgbench, which runs the same ones.
const (
	InsertPet = `INSERT INTO pets (name, category_id, status, key_id, idempotency_key) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING id`
	SelectPet          = "SELECT id, name, category_id, status FROM pets WHERE id = $1"
	SelectPets         = "SELECT id, name, category_id, status FROM pets WHERE id > $1 ORDER BY id LIMIT $2"
	SelectPetsByStatus = "SELECT id, name, category_id, status FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3"
)

// selectPetMade reads the pet that an idempotency key has made, and writes
// to the log behind it. That the pet can be read does not mean that a
// standby has it: the wait for that may have been cancelled. But what is
// written behind it commits only after it, and so waits for both.
const selectPetMade = `SELECT id, name, category_id, status, pg_logical_emit_message(true, 'petstore', '')::text
FROM pets WHERE key_id = $1 AND idempotency_key = $2`

// serverMade is the scope of the idempotency keys that the store itself makes.
// No API key has such an ID.
const serverMade = "server"

// CreatePet implements petstore.PetStore. Where the client sends no idempotency
// key the store makes one, so that every write can be tried again.
func (s *Store) CreatePet(ctx context.Context, p petstore.NewPet) (petstore.Pet, error) {
	if err := p.Validate(); err != nil {
		return petstore.Pet{}, err
	}
	if p.Idempotency.IsZero() {
		p.Idempotency = petstore.Idempotency{KeyID: serverMade, Key: s.prefix + strconv.FormatInt(s.number.Add(1), 10)}
	}
	var pet petstore.Pet
	return write(ctx, s, statement{
		sql:  InsertPet,
		args: []any{p.Name, p.CategoryID, string(p.Status), p.Idempotency.KeyID, p.Idempotency.Key},
		take: func(r pgx.BatchResults) error {
			var id int64
			err := r.QueryRow().Scan(&id)
			pet = p.WithID(id)
			return noRows(err, nil)
		},
		then: func(ctx context.Context, c *pgx.Conn) (err error) {
			if pet.ID == 0 {
				pet, err = petMade(ctx, c, p)
			}
			return err
		},
	}, &pet)
}

// noRows returns instead where err says that there was no row.
func noRows(err, instead error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return instead
	}
	return err
}

// petMade returns the pet that p's idempotency key has made.
func petMade(ctx context.Context, c *pgx.Conn, p petstore.NewPet) (petstore.Pet, error) {
	var made petstore.Pet
	var lsn string
	err := c.QueryRow(ctx, selectPetMade, p.Idempotency.KeyID, p.Idempotency.Key).
		Scan(&made.ID, &made.Name, &made.CategoryID, (*string)(&made.Status), &lsn)
	if err != nil {
		return petstore.Pet{}, err
	}
	return p.Repeats(made)
}

// Pet implements petstore.PetStore.
func (s *Store) Pet(ctx context.Context, id int64) (petstore.Pet, error) {
	var pet petstore.Pet
	return read(ctx, s, statement{
		sql:  SelectPet,
		args: []any{id},
		take: func(r pgx.BatchResults) error {
			err := r.QueryRow().Scan(&pet.ID, &pet.Name, &pet.CategoryID, (*string)(&pet.Status))
			return noRows(err, petstore.NoSuchPet(id))
		},
	}, &pet)
}

// Pets implements petstore.PetStore. It asks for one row more than the page
// holds, to know whether there is a next one.
//
// Identifiers are given before the commit, so that a pet may appear behind the
// place a walk has reached. It was not acknowledged then: whatever was, when the
// walk began, is committed and seen by every page.
func (s *Store) Pets(ctx context.Context, q petstore.Query) (petstore.Page, error) {
	st := statement{sql: SelectPets, args: []any{q.After, q.Limit + 1}}
	if q.Status != "" {
		st = statement{sql: SelectPetsByStatus, args: []any{string(q.Status), q.After, q.Limit + 1}}
	}
	var page petstore.Page
	st.take = func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return err
		}
		pets, err := scanPets(rows, q.Limit+1)
		page = petstore.Page{Pets: pets[:min(q.Limit, len(pets))], More: len(pets) > q.Limit}
		return err
	}
	return read(ctx, s, st, &page)
}

func scanPets(rows pgx.Rows, most int) ([]petstore.Pet, error) {
	defer rows.Close()
	pets := make([]petstore.Pet, 0, most)
	for rows.Next() {
		p, ok := rawPet(rows)
		if !ok {
			if err := rows.Scan(&p.ID, &p.Name, &p.CategoryID, (*string)(&p.Status)); err != nil {
				return nil, err
			}
		}
		pets = append(pets, p)
	}
	return pets, rows.Err()
}

// rawPet reads a row as the server sends it when the statement is prepared:
// integers as eight bytes, text as itself. Scan takes a fifth of a page's time
// to find that out for each value. Any other row is left to it.
func rawPet(rows pgx.Rows) (p petstore.Pet, ok bool) {
	fields, values := rows.FieldDescriptions(), rows.RawValues()
	if len(values) != 4 || fields[0].Format != pgx.BinaryFormatCode || fields[2].Format != pgx.BinaryFormatCode ||
		len(values[0]) != 8 || len(values[2]) != 8 || values[1] == nil || values[3] == nil {
		return p, false
	}
	p.ID = int64(binary.BigEndian.Uint64(values[0]))
	p.Name = string(values[1])
	p.CategoryID = int64(binary.BigEndian.Uint64(values[2]))
	switch status := values[3]; { // the usual ones without an allocation
	case string(status) == string(petstore.Available):
		p.Status = petstore.Available
	case string(status) == string(petstore.Pending):
		p.Status = petstore.Pending
	case string(status) == string(petstore.Sold):
		p.Status = petstore.Sold
	default:
		p.Status = petstore.Status(status)
	}
	return p, true
}
