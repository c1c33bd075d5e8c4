package postgres

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres/primary"
)

// The statements of the operations. They are exported for internal/proof/bench/pgbench,
// which runs the same statements.
const (
	InsertPet = `INSERT INTO pets (name, category_id, status, key_id, idempotency_key) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING id`
	SelectPet          = "SELECT id, name, category_id, status FROM pets WHERE id = $1"
	SelectPets         = "SELECT id, name, category_id, status FROM pets WHERE id > $1 ORDER BY id LIMIT $2"
	SelectPetsByStatus = "SELECT id, name, category_id, status FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3"
)

// selectPetMade reads the pet that an idempotency key has made, and writes to the
// log. The pet may be readable before a standby has it, where the wait for the
// standby was cancelled. The new entry of the log commits after the pet, so its
// commit waits for both.
const selectPetMade = `SELECT id, name, category_id, status, pg_logical_emit_message(true, 'petstore', '')::text
FROM pets WHERE key_id = $1 AND idempotency_key = $2`

// CreatePet implements pets.PetStore. Where the client sends no idempotency
// key the store makes one, so that every write can be retried.
func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if p.Idempotency.IsZero() {
		p.Idempotency = s.newIdempotency()
	}
	var created, made pets.Pet
	err := s.db.Write(ctx, primary.Statement{
		SQL:  InsertPet,
		Args: []any{p.Name, p.CategoryID, string(p.Status), p.Idempotency.KeyID, p.Idempotency.Key},
		Scan: func(r pgx.BatchResults) error {
			var id int64
			err := r.QueryRow().Scan(&id)
			created = p.WithID(id)
			if isNoRows(err) { // the key has made a pet before
				return nil
			}
			return err
		},
		AfterCommit: func(ctx context.Context, c *pgx.Conn) error {
			if created.ID > 0 {
				return nil
			}
			var logPosition string
			return c.QueryRow(ctx, selectPetMade, p.Idempotency.KeyID, p.Idempotency.Key).
				Scan(&made.ID, &made.Name, &made.CategoryID, (*string)(&made.Status), &logPosition)
		},
	})
	switch {
	case err != nil:
		return pets.Pet{}, translate(err)
	case created.ID == 0:
		return p.Repeats(made)
	}
	return created, nil
}

// Pet implements pets.PetStore.
func (s *Store) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	var pet pets.Pet
	var found bool
	err := s.db.Read(ctx, primary.Statement{
		SQL:  SelectPet,
		Args: []any{id},
		Scan: func(r pgx.BatchResults) error {
			err := r.QueryRow().Scan(&pet.ID, &pet.Name, &pet.CategoryID, (*string)(&pet.Status))
			if found = err == nil; isNoRows(err) {
				return nil
			}
			return err
		},
	})
	switch {
	case err != nil:
		return pets.Pet{}, translate(err)
	case !found:
		return pets.Pet{}, pets.NoSuchPet(id)
	}
	return pet, nil
}

// Final implements pets.PetStore. A pet may commit behind those of greater
// identifiers, and a failover may lose the latest.
func (s *Store) Final() bool { return false }

// Pets implements pets.PetStore. It asks for one row more than the page
// holds, to know whether there is a next page.
//
// Identifiers are given before the commit, so that a pet may appear behind the
// place a walk has reached. It was not acknowledged then: a pet acknowledged
// before the walk began is committed, and seen by every page.
func (s *Store) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	st := primary.Statement{SQL: SelectPets, Args: []any{q.After, q.Limit + 1}}
	if q.Status != "" {
		st = primary.Statement{SQL: SelectPetsByStatus, Args: []any{string(q.Status), q.After, q.Limit + 1}}
	}
	var animals []pets.Pet
	st.Scan = func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return err
		}
		animals, err = scanPets(rows, q.Limit+1)
		return err
	}
	if err := s.db.Read(ctx, st); err != nil {
		return pets.Page{}, translate(err)
	}
	return pets.Page{Pets: animals[:min(q.Limit, len(animals))], More: len(animals) > q.Limit}, nil
}

func scanPets(rows pgx.Rows, most int) ([]pets.Pet, error) {
	defer rows.Close()
	animals := make([]pets.Pet, 0, most)
	for rows.Next() {
		p, ok := rawPet(rows)
		if !ok {
			if err := rows.Scan(&p.ID, &p.Name, &p.CategoryID, (*string)(&p.Status)); err != nil {
				return nil, err
			}
		}
		animals = append(animals, p)
	}
	return animals, rows.Err()
}

// rawPet decodes a row in the format of a prepared statement: integers as eight
// bytes, text as itself. Scan, which decodes any format, looks it up for each
// value: a seventh of the processor time of a page.
func rawPet(rows pgx.Rows) (p pets.Pet, ok bool) {
	fields, values := rows.FieldDescriptions(), rows.RawValues()
	if len(values) != 4 || fields[0].Format != pgx.BinaryFormatCode || fields[2].Format != pgx.BinaryFormatCode ||
		len(values[0]) != 8 || len(values[2]) != 8 || values[1] == nil || values[3] == nil {
		return p, false
	}
	p.ID = int64(binary.BigEndian.Uint64(values[0]))
	p.Name = string(values[1])
	p.CategoryID = int64(binary.BigEndian.Uint64(values[2]))
	switch status := values[3]; { // the known statuses without an allocation
	case string(status) == string(pets.Available):
		p.Status = pets.Available
	case string(status) == string(pets.Pending):
		p.Status = pets.Pending
	case string(status) == string(pets.Sold):
		p.Status = pets.Sold
	default:
		p.Status = pets.Status(status)
	}
	return p, true
}
