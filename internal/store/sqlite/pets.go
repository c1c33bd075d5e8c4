package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"iter"

	"example.com/petstore/internal/pets"
)

const (
	petColumns         = "id, name, category_id, status"
	insertPet          = "INSERT INTO pets (" + petColumns + ") VALUES (nullif(?, 0), ?, ?, ?)"
	selectPet          = "SELECT " + petColumns + " FROM pets WHERE id = ?"
	selectPets         = "SELECT " + petColumns + " FROM pets WHERE id > ? ORDER BY id LIMIT ?"
	selectPetsByStatus = "SELECT " + petColumns + " FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?"

	// The pet's identifier is the next one of AUTOINCREMENT, which no row of pets is
	// above, even if the row of sqlite_sequence was lost.
	insertIdempotencyKey = `INSERT INTO idempotency_keys (pet_id, key, key_id, fingerprint)
		SELECT max(coalesce(max(seq), 0), (SELECT coalesce(max(id), 0) FROM pets)) + 1, ?, ?, ? FROM sqlite_sequence WHERE name = 'pets'
		ON CONFLICT (key, key_id) DO NOTHING`
	selectIdempotencyKey = "SELECT pet_id, fingerprint FROM idempotency_keys WHERE key = ? AND key_id = ?"
)

func scanPet(row scanner, p *pets.Pet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, (*string)(&p.Status))
}

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	var fingerprint []byte // computed here, because everyone waits for the writer
	if !p.Idempotency.IsZero() {
		fingerprint = p.Fingerprint()
	}
	var made pets.Pet
	err := s.write(ctx, func(tx *tx) (err error) {
		if fingerprint == nil {
			made, err = tx.create(p, 0)
		} else {
			made, err = tx.createOnce(p, fingerprint)
		}
		return err
	})
	if err != nil {
		return pets.Pet{}, err
	}
	return made, nil
}

// create inserts p with the identifier id, or with a new one if id is 0.
func (t *tx) create(p pets.NewPet, id int64) (pets.Pet, error) {
	result, err := t.insertPet.Exec(id, p.Name, p.CategoryID, string(p.Status))
	if err != nil {
		return pets.Pet{}, err
	}
	id, err = result.LastInsertId()
	return p.WithID(id), err
}

// createOnce inserts p, or returns the pet that its idempotency key has created.
func (t *tx) createOnce(p pets.NewPet, fingerprint []byte) (made pets.Pet, err error) {
	key, keyID := p.Idempotency.Key, p.Idempotency.KeyID
	result, err := t.insertIdempotencyKey.Exec(key, keyID, fingerprint)
	if err != nil {
		return made, err
	}
	if inserted, _ := result.RowsAffected(); inserted > 0 { // this driver has no errors here
		id, _ := result.LastInsertId()
		return t.create(p, id)
	}
	var id int64
	if err := t.QueryRow(selectIdempotencyKey, key, keyID).Scan(&id, &fingerprint); err != nil {
		return made, err
	}
	if err := p.CheckRepeat(fingerprint); err != nil {
		return made, err
	}
	err = scanPet(t.QueryRow(selectPet, id), &made)
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.ErrRemoved
	}
	return made, err
}

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
		page.Pets, err = collect(make([]pets.Pet, 0, min(q.Limit, 1000)+1), rows, err, scanPet)
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

// sqlite_sequence has the largest ID ever assigned.
const anyPet = "SELECT EXISTS (SELECT 1 FROM pets) OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets' AND seq > 0)"

// Load implements pets.Store. Other writers wait until it is done.
func (s *Store) Load(ctx context.Context, all iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Validated(all), false)
}

func (s *Store) LoadWithIDs(ctx context.Context, all iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.ValidatedWithIDs(all), true)
}

// load stores all pets in one transaction.
func (s *Store) load(ctx context.Context, all iter.Seq2[pets.Pet, error], mustBeEmpty bool) (n int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, pets.ErrClosed
	}
	var refused error // an error from all, not from the database
	err = s.writer.writeAlone(ctx, func(tx *tx) error {
		var held bool
		if err := tx.QueryRow(anyPet).Scan(&held); err != nil {
			return err
		}
		if held && mustBeEmpty {
			return pets.ErrNotEmpty
		}
		for p, err := range all {
			if err == nil && ctx.Err() != nil {
				err = gaveUp(ctx.Err())
			}
			if refused = err; err != nil {
				return err
			}
			if _, err := tx.create(p.WithoutID(), p.ID); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err = cmp.Or(refused, err); err != nil {
		return 0, err
	}
	return n, nil
}
