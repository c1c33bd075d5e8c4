package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/internal/petstore"
)

const (
	insertPet          = "INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)"
	selectPet          = "SELECT id, name, category_id, status FROM pets WHERE id = ?"
	selectPets         = "SELECT id, name, category_id, status FROM pets WHERE id > ? ORDER BY id LIMIT ?"
	selectPetsByStatus = "SELECT id, name, category_id, status FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?"
)

// CreatePet implements petstore.PetStore.
func (s *Store) CreatePet(ctx context.Context, p petstore.NewPet) (petstore.Pet, error) {
	if err := p.Validate(); err != nil {
		return petstore.Pet{}, err
	}
	var id int64
	err := s.committer.write(ctx, func(w *writer) error {
		res, err := w.insertPet.Exec(p.Name, p.CategoryID, string(p.Status))
		if err != nil {
			return err
		}
		id, err = res.LastInsertId()
		return err
	})
	if err != nil {
		return petstore.Pet{}, err
	}
	return p.WithID(id), nil
}

// Pet implements petstore.PetStore.
func (s *Store) Pet(ctx context.Context, id int64) (petstore.Pet, error) {
	if p, ok := s.petCache.get(id); ok {
		return p, s.usable(ctx)
	}
	var p petstore.Pet
	err := s.read(ctx, func(r *reader) error { return scanPet(r.pet.QueryRow(id), &p) })
	if errors.Is(err, sql.ErrNoRows) {
		return petstore.Pet{}, petstore.NoSuchPet(id)
	}
	if err != nil {
		return petstore.Pet{}, err
	}
	s.petCache.put(id, p, cost(p))
	return p, nil
}

// Pets implements petstore.PetStore.
func (s *Store) Pets(ctx context.Context, q petstore.Query) (petstore.Page, error) {
	if page, ok := s.pageCache.get(q); ok {
		return page, s.usable(ctx)
	}
	page, err := s.readPage(ctx, q)
	if err == nil && page.More {
		total := 0
		for _, p := range page.Pets {
			total += cost(p)
		}
		s.pageCache.put(q, page, total)
	}
	return page, err
}

// readPage asks for one row more than the page holds, to know whether there is
// a next one.
func (s *Store) readPage(ctx context.Context, q petstore.Query) (petstore.Page, error) {
	var page petstore.Page
	err := s.read(ctx, func(r *reader) (err error) {
		var rows *sql.Rows
		if q.Status == "" {
			rows, err = r.pets.Query(q.After, q.Limit+1)
		} else {
			rows, err = r.petsByStatus.Query(string(q.Status), q.After, q.Limit+1)
		}
		if err != nil {
			return err
		}
		page.Pets, err = scanPets(rows, q.Limit+1)
		return err
	})
	if err != nil {
		return petstore.Page{}, err
	}
	if len(page.Pets) > q.Limit {
		page.Pets, page.More = page.Pets[:q.Limit:q.Limit], true
	}
	return page, nil
}

type scanner interface{ Scan(dest ...any) error }

func scanPet(row scanner, p *petstore.Pet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, (*string)(&p.Status))
}

func scanPets(rows *sql.Rows, most int) ([]petstore.Pet, error) {
	defer rows.Close()
	pets := make([]petstore.Pet, 0, most)
	for rows.Next() {
		var p petstore.Pet
		if err := scanPet(rows, &p); err != nil {
			return nil, err
		}
		pets = append(pets, p)
	}
	return pets, rows.Err()
}
