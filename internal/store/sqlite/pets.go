package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/petstore/engine/db/sqlite"
	"example.com/petstore/internal/pets"
)

const (
	newPetColumns = "name, category_id, status"
	petColumns    = "id, " + newPetColumns
)

// After ANALYZE, the planner takes statuses for evenly spread. Without INDEXED BY, it would scan
// pets in the order of id, past all of another status.
const petsByStatus = "SELECT " + petColumns +
	" FROM pets INDEXED BY pets_by_status WHERE status = ? AND id > ? ORDER BY id LIMIT ?"

// The transaction is short, since creates wait for it.
const oldIdempotencyKeys = "SELECT pet_id FROM idempotency_keys WHERE created_at < ? ORDER BY created_at LIMIT 50"

var (
	insertPet  = Schema.Statement("INSERT INTO pets (" + petColumns + ") VALUES (nullif(?, 0), ?, ?, ?)")
	selectPet  = Schema.Statement("SELECT " + newPetColumns + " FROM pets WHERE id = ?")
	selectPets = Schema.Statement("SELECT " + petColumns + " FROM pets WHERE id > ? ORDER BY id LIMIT ?")

	selectPetsByStatus = Schema.Statement(petsByStatus)

	// The pet gets the next identifier of AUTOINCREMENT. It is above those of all pets even
	// if the row of sqlite_sequence was lost.
	insertIdempotencyKey = Schema.Statement(`INSERT INTO idempotency_keys (pet_id, key, key_id, fingerprint)
		SELECT max(coalesce(max(seq), 0), (SELECT coalesce(max(id), 0) FROM pets)) + 1, ?, ?, ?
		FROM sqlite_sequence WHERE name = 'pets'
		ON CONFLICT (key, key_id) DO NOTHING`)
	selectIdempotencyKey = Schema.Statement(
		"SELECT pet_id, fingerprint FROM idempotency_keys WHERE key = ? AND key_id = ?")
	deleteIdempotencyKeys = Schema.Statement("DELETE FROM idempotency_keys WHERE pet_id IN (" + oldIdempotencyKeys + ")")
)

// fields returns pointers to the values of petColumns, to scan into and as arguments.
func fields(p *pets.Pet) []any { return []any{&p.ID, &p.Name, &p.CategoryID, &p.Status} }

// selectByID scans the pet with the ID of p into p.
func selectByID(conn sqlite.Conn, p *pets.Pet) error {
	return conn.Stmt(selectPet).QueryRow(p.ID).Scan(fields(p)[1:]...)
}

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet, key pets.IdempotencyKey) (pets.Pet, error) {
	var made pets.Pet
	err := s.Write(ctx, func(conn sqlite.Conn) (err error) {
		if key.IsZero() {
			made, err = insert(conn, pets.Pet{NewPet: p})
		} else {
			made, err = insertOnce(conn, p, key)
		}
		return err
	})
	if err != nil {
		return pets.Pet{}, err
	}
	return made, nil
}

// insert inserts p, with a new identifier if it has none.
func insert(conn sqlite.Conn, p pets.Pet) (pets.Pet, error) {
	result, err := conn.Stmt(insertPet).Exec(fields(&p)...)
	if err != nil {
		return pets.Pet{}, err
	}
	p.ID, err = result.LastInsertId()
	return p, err
}

// insertOnce inserts p, or returns the pet that its idempotency key has created.
func insertOnce(conn sqlite.Conn, p pets.NewPet, key pets.IdempotencyKey) (made pets.Pet, err error) {
	fingerprint := p.Fingerprint()
	result, err := conn.Stmt(insertIdempotencyKey).Exec(key.Key, key.KeyID, fingerprint)
	if err != nil {
		return made, err
	}
	if inserted, _ := result.RowsAffected(); inserted > 0 { // this driver has no errors here
		id, _ := result.LastInsertId()
		return insert(conn, pets.Pet{ID: id, NewPet: p})
	}
	if err := conn.Stmt(selectIdempotencyKey).QueryRow(key.Key, key.KeyID).Scan(&made.ID, &fingerprint); err != nil {
		return made, err
	}
	if err := p.CheckRepeat(fingerprint); err != nil {
		return made, err
	}
	err = selectByID(conn, &made)
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.ErrRemoved
	}
	return made, err
}

func (s *Store) ForgetIdempotencyKeys(ctx context.Context, age time.Duration) (int, error) {
	var n int64
	err := s.Write(ctx, func(conn sqlite.Conn) error {
		result, err := conn.Stmt(deleteIdempotencyKeys).Exec(time.Now().Add(-age).Unix())
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	return int(n), err
}

func (s *Store) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	p := pets.Pet{ID: id}
	err := s.Read(ctx, func(conn sqlite.Conn) error { return selectByID(conn, &p) })
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.NoSuchPet(id)
	}
	return p, err
}

// Pets implements pets.Store. It selects one row more than the page may hold, to
// learn whether there are more.
func (s *Store) Pets(ctx context.Context, q pets.ListQuery) (page pets.ListPage, err error) {
	query, args := selectPets, []any{q.After, q.Limit + 1}
	if q.Status != "" {
		query, args = selectPetsByStatus, []any{string(q.Status), q.After, q.Limit + 1}
	}
	err = s.Read(ctx, func(conn sqlite.Conn) error {
		rows, err := conn.Stmt(query).Query(args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		var p pets.Pet
		columns := fields(&p)
		for rows.Next() {
			p = pets.Pet{} // shares nothing with the pet before
			if err := rows.Scan(columns...); err != nil {
				return err
			}
			if !page.Add(p, q.Limit) {
				return nil
			}
		}
		return rows.Err()
	})
	return page, err
}
