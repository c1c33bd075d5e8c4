package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"example.com/petstore/internal/pets"
)

// petColumns are the columns of a pet beside id, each with its field.
var petColumns = []struct {
	name  string
	field func(*pets.NewPet) any // a pointer
}{
	{"name", func(p *pets.NewPet) any { return &p.Name }},
	{"category_id", func(p *pets.NewPet) any { return &p.CategoryID }},
	{"status", func(p *pets.NewPet) any { return &p.Status }},
}

var (
	insertPet = "INSERT INTO pets (" + idAndColumns() + ") VALUES (nullif(?, 0)" +
		strings.Repeat(", ?", len(petColumns)) + ")"
	selectPet  = "SELECT " + idAndColumns() + " FROM pets WHERE id = ?"
	selectPets = "SELECT " + idAndColumns() + " FROM pets WHERE id > ? ORDER BY id LIMIT ?"

	// With statistics (ANALYZE), SQLite may prefer to scan pets in the order of id.
	selectPetsByStatus = "SELECT " + idAndColumns() + " FROM pets INDEXED BY pets_by_status" +
		" WHERE status = ? AND id > ? ORDER BY id LIMIT ?"
)

const (
	// The pet's identifier is the next one of AUTOINCREMENT, which no row of pets is
	// above, even if the row of sqlite_sequence was lost.
	insertIdempotencyKey = `INSERT INTO idempotency_keys (pet_id, key, key_id, fingerprint)
		SELECT max(coalesce(max(seq), 0), (SELECT coalesce(max(id), 0) FROM pets)) + 1, ?, ?, ? FROM sqlite_sequence WHERE name = 'pets'
		ON CONFLICT (key, key_id) DO NOTHING`
	selectIdempotencyKey = "SELECT pet_id, fingerprint FROM idempotency_keys WHERE key = ? AND key_id = ?"

	deleteIdempotencyKeys = `DELETE FROM idempotency_keys WHERE pet_id IN
		(SELECT pet_id FROM idempotency_keys WHERE created_at < ? ORDER BY created_at LIMIT 50)`
)

// idAndColumns returns the names of all columns of a pet.
func idAndColumns() string {
	list := "id"
	for _, c := range petColumns {
		list += ", " + c.name
	}
	return list
}

// values returns p's identifier and fields, as arguments and destinations for
// idAndColumns.
func values(p *pets.Pet) []any {
	all := []any{&p.ID}
	for _, c := range petColumns {
		all = append(all, c.field(&p.NewPet))
	}
	return all
}

func scanPet(row scanner, p *pets.Pet) error { return row.Scan(values(p)...) }

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet, key pets.IdempotencyKey) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if err := key.Validate(); err != nil {
		return pets.Pet{}, err
	}
	var fingerprint []byte // computed here, because everyone waits for the writer
	if !key.IsZero() {
		fingerprint = p.Fingerprint()
	}
	var made pets.Pet
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		if key.IsZero() {
			made, err = s.insert(tx, pets.Pet{NewPet: p})
		} else {
			made, err = s.insertOnce(tx, p, key, fingerprint)
		}
		return err
	})
	if err != nil {
		return pets.Pet{}, err
	}
	return made, nil
}

// insert inserts p, with a new identifier if it has none.
func (s *Store) insert(tx *sql.Tx, p pets.Pet) (pets.Pet, error) {
	result, err := tx.Stmt(s.inserts[insertPet]).Exec(values(&p)...)
	if err != nil {
		return pets.Pet{}, err
	}
	p.ID, err = result.LastInsertId()
	return p, err
}

// insertOnce inserts p, or returns the pet that its idempotency key has created.
func (s *Store) insertOnce(
	tx *sql.Tx, p pets.NewPet, key pets.IdempotencyKey, fingerprint []byte,
) (made pets.Pet, err error) {
	result, err := tx.Stmt(s.inserts[insertIdempotencyKey]).Exec(key.Key, key.KeyID, fingerprint)
	if err != nil {
		return made, err
	}
	if inserted, _ := result.RowsAffected(); inserted > 0 { // this driver has no errors here
		id, _ := result.LastInsertId()
		return s.insert(tx, pets.Pet{ID: id, NewPet: p})
	}
	var id int64
	if err := tx.QueryRow(selectIdempotencyKey, key.Key, key.KeyID).Scan(&id, &fingerprint); err != nil {
		return made, err
	}
	if err := p.CheckRepeat(fingerprint); err != nil {
		return made, err
	}
	err = scanPet(tx.QueryRow(selectPet, id), &made)
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.ErrRemoved
	}
	return made, err
}

func (s *Store) ForgetIdempotencyKeys(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.write(ctx, func(tx *sql.Tx) error {
		result, err := tx.Exec(deleteIdempotencyKeys, before.Unix())
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	return int(n), err
}

func (s *Store) Pet(ctx context.Context, id int64) (p pets.Pet, err error) {
	err = s.read(ctx, func(selects statements) error { return scanPet(selects[selectPet].QueryRow(id), &p) })
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.NoSuchPet(id)
	}
	return p, err
}

// Pets implements pets.Store. It selects one row more than the page may hold, to
// learn whether there are more.
func (s *Store) Pets(ctx context.Context, q pets.Query) (page pets.Page, err error) {
	err = s.read(ctx, func(selects statements) error {
		query, args := selectPets, []any{q.After, q.Limit + 1}
		if q.Status != "" {
			query, args = selectPetsByStatus, []any{string(q.Status), q.After, q.Limit + 1}
		}
		for p, err := range rowsOf(context.Background(), selects, scanPet, query, args...) {
			if err != nil {
				return err
			}
			if !page.Add(p, q.Limit) {
				break
			}
		}
		return nil
	})
	if err != nil {
		return pets.Page{}, err
	}
	return page, nil
}
