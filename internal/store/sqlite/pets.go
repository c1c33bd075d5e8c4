package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/internal/pets"
)

const (
	petColumns         = "id, name, category_id, status"
	insertPet          = "INSERT INTO pets (" + petColumns + ", key_id, idempotency_key) VALUES (nullif(?, 0), ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	selectPetMade      = "SELECT " + petColumns + " FROM pets WHERE key_id = ? AND idempotency_key = ?"
	selectPet          = "SELECT " + petColumns + " FROM pets WHERE id = ?"
	selectPets         = "SELECT " + petColumns + " FROM pets WHERE id > ? ORDER BY id LIMIT ?"
	selectPetsByStatus = "SELECT " + petColumns + " FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?"
)

type scanner interface{ Scan(dest ...any) error }

func scanPet(row scanner, p *pets.Pet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, (*string)(&p.Status))
}

// insertPet inserts p with the identifier id, or with a new one if id is 0, and
// returns the identifier. It returns 0 if the idempotency key was used before.
func (t *tx) insertPet(p pets.NewPet, id int64) (int64, error) {
	var keyID, key any
	if !p.Idempotency.IsZero() {
		keyID, key = p.Idempotency.KeyID, p.Idempotency.Key
	}
	result, err := t.insert.Exec(id, p.Name, p.CategoryID, string(p.Status), keyID, key)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return 0, err
	}
	return result.LastInsertId()
}

// CreatePet implements pets.Store.
func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	var made pets.Pet
	err := s.write(ctx, func(tx *tx) error {
		id, err := tx.insertPet(p, 0)
		if made = p.WithID(id); err != nil || id != 0 {
			return err
		}
		if err = scanPet(tx.QueryRow(selectPetMade, p.Idempotency.KeyID, p.Idempotency.Key), &made); err == nil {
			err = p.CheckRepeat(made.WithoutID().Fingerprint())
		}
		return err
	})
	if err != nil {
		return pets.Pet{}, err
	}
	return made, nil
}

// Pet implements pets.Store.
func (s *Store) Pet(ctx context.Context, id int64) (p pets.Pet, err error) {
	err = s.read(ctx, func() error { return scanPet(s.selectPet.QueryRow(id), &p) })
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.NoSuchPet(id)
	}
	return p, err
}

// Pets implements pets.Store. It selects one row more than the page holds, to
// learn whether there are more.
func (s *Store) Pets(ctx context.Context, q pets.Query) (page pets.Page, err error) {
	err = s.read(ctx, func() error {
		stmt, args := s.selectPets, []any{q.After, q.Limit + 1}
		if q.Status != "" {
			stmt, args = s.selectPetsByStatus, []any{string(q.Status), q.After, q.Limit + 1}
		}
		rows, err := stmt.Query(args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		page.Pets = make([]pets.Pet, 0, min(q.Limit, 1000)+1)
		for rows.Next() {
			var p pets.Pet
			if err := scanPet(rows, &p); err != nil {
				return err
			}
			page.Pets = append(page.Pets, p)
		}
		return rows.Err()
	})
	if err != nil {
		return pets.Page{}, err
	}
	if len(page.Pets) > q.Limit {
		page.Pets, page.More = page.Pets[:q.Limit:q.Limit], true
	}
	return page, nil
}
