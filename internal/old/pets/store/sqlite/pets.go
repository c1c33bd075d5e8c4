package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/internal/old/pets"
)

// CreatePet implements pets.PetStore.
func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if !p.Idempotency.IsZero() {
		return s.createPetOnce(ctx, p)
	}
	if s.committer == nil {
		return pets.Pet{}, errReadOnly
	}
	return s.committer.create(ctx, p)
}

// createPetOnce returns the pet that the idempotency key made before, or makes
// it. The pet of an earlier job of the same batch counts: it is committed with
// this one's result, or not at all.
func (s *Store) createPetOnce(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	var pet pets.Pet
	err := s.write(ctx, func(w *writer) error {
		i := p.Idempotency
		made := p.WithID(0)
		res, err := w.insertPetOnce.Exec(append(appendValues(nil, &made), i.KeyID, i.Key)...)
		if err != nil {
			return err
		}
		inserted, err := res.RowsAffected()
		if err != nil {
			return err
		}
		if inserted == 0 { // LastInsertId would be that of another pet
			return w.selectPetMade.QueryRow(i.KeyID, i.Key).Scan(scanned(&pet)...)
		}
		id, err := res.LastInsertId()
		pet = p.WithID(id)
		return err
	})
	if err != nil {
		return pets.Pet{}, err
	}
	return p.Repeats(pet)
}

// Pet implements pets.PetStore.
func (s *Store) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	var p pets.Pet
	err := s.read(ctx, func(r *reader) error { return r.pet.QueryRow(id).Scan(scanned(&p)...) })
	if errors.Is(err, sql.ErrNoRows) {
		return pets.Pet{}, pets.NoSuchPet(id)
	}
	if err != nil {
		return pets.Pet{}, err
	}
	return p, nil
}

// Final implements pets.PetStore. Nothing changes a pet, whichever process writes
// to the file, and a new pet follows all others. Only a change of rows by hand needs a
// restart.
func (s *Store) Final() bool { return true }

// Pets implements pets.PetStore. It asks for one row more than the page holds,
// to know whether there is a next one.
func (s *Store) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	var page pets.Page
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
		return pets.Page{}, err
	}
	if len(page.Pets) > q.Limit {
		page.Pets, page.More = page.Pets[:q.Limit:q.Limit], true
	}
	return page, nil
}
