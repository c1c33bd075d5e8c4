package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets"
)

const (
	petColumns = "id, name, category_id, status"

	insertPet = `INSERT INTO pets (name, category_id, status, key_id, idempotency_key) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING id`

	// selectMade also writes to the write-ahead log, so that its commit waits
	// until a standby has the pet: the wait after the insert may have been
	// canceled.
	selectMade = "SELECT " + petColumns + `, pg_logical_emit_message(true, '` + name + `', '')
FROM pets WHERE key_id = $1 AND idempotency_key = $2`

	selectPet          = "SELECT " + petColumns + " FROM pets WHERE id = $1"
	selectPets         = "SELECT " + petColumns + " FROM pets WHERE id > $1 ORDER BY id LIMIT $2"
	selectPetsByStatus = "SELECT " + petColumns + " FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3"
)

// CreatePet implements pets.Store.
func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	run := s.write
	var keyID, key *string // NULL without an idempotency key
	if p.Idempotency.IsZero() {
		run = s.writeOnce
	} else {
		keyID, key = &p.Idempotency.KeyID, &p.Idempotency.Key
	}
	var made pets.Pet
	err := run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var id int64
		err := c.QueryRow(ctx, insertPet, p.Name, p.CategoryID, string(p.Status), keyID, key).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) { // the key has already created a pet
			return c.QueryRow(ctx, selectMade, keyID, key).Scan(append(fields(&made), nil)...)
		}
		made = p.WithID(id)
		return err
	})
	if err != nil {
		return pets.Pet{}, err
	}
	return p.CheckRepeat(made)
}

// Pet implements pets.Store.
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
