package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/postgres/primary"
)

// The statements of the operations. They are exported for internal/proof/bench/pgbench,
// which runs the same statements.
var (
	insertPet = "INSERT INTO pets (" + strings.Join(inserted, ", ") + ") VALUES (" + placeholders(len(inserted)) + `)
ON CONFLICT (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING id`
	SelectPet          = "SELECT " + petColumns + " FROM pets WHERE id = $1"
	SelectPets         = "SELECT " + petColumns + " FROM pets WHERE id > $1 ORDER BY id LIMIT $2"
	SelectPetsByStatus = "SELECT " + petColumns + " FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3"
)

// InsertPet returns the statement that stores p, which has an idempotency key, with
// its arguments: pointers to values, or values.
func InsertPet(p pets.NewPet) (statement string, args []any) { return insertPet, insertArgs(p) }

// A pet never changes and is never deleted, so standbys may serve the reads.
var (
	selectPetXmin          = withXmin(SelectPet)
	selectPetsXmin         = withXmin(SelectPets)
	selectPetsByStatusXmin = withXmin(SelectPetsByStatus)
)

func withXmin(read string) string { return strings.Replace(read, " FROM pets", ", xmin FROM pets", 1) }

// selectPetMade reads the pet that an idempotency key has made, and writes to the
// log. The pet may be readable before a standby has it, where the wait for the
// standby was cancelled. The new entry of the log commits after the pet, so its
// commit waits for both.
var selectPetMade = "SELECT " + petColumns + `, pg_logical_emit_message(true, 'petstore', '')::text
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
		SQL:  insertPet,
		Args: insertArgs(p),
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
				Scan(append(scanned(&made), &logPosition)...)
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
	found, err := s.read(ctx, primary.Statement{SQL: SelectPet, WithXmin: selectPetXmin, Args: []any{id}}, 1)
	switch {
	case err != nil:
		return pets.Pet{}, err
	case len(found) == 0:
		return pets.Pet{}, pets.NoSuchPet(id)
	}
	return found[0], nil
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
	st := primary.Statement{SQL: SelectPets, WithXmin: selectPetsXmin, Args: []any{q.After, q.Limit + 1}}
	if q.Status != "" {
		st = primary.Statement{SQL: SelectPetsByStatus, WithXmin: selectPetsByStatusXmin, Args: []any{string(q.Status), q.After, q.Limit + 1}}
	}
	animals, err := s.read(ctx, st, q.Limit+1)
	if err != nil {
		return pets.Page{}, err
	}
	return pets.Page{Pets: animals[:min(q.Limit, len(animals))], More: len(animals) > q.Limit}, nil
}

// read returns the pets of a statement, of which there are at most so many.
func (s *Store) read(ctx context.Context, st primary.Statement, most int) (animals []pets.Pet, err error) {
	st.Scan = func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return err
		}
		animals, err = scanPets(rows, most)
		return err
	}
	err = translate(s.db.Read(ctx, st))
	return animals, err
}
