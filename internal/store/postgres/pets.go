package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/pets"
)

// fields returns pointers to the fields of p, in the order of petList.
func fields(p *pets.Pet) []any {
	return []any{&p.ID, &p.Name, &p.CategoryID, (*string)(&p.Status)}
}

// Literals that are no text are cast: for an unknown one, PostgreSQL prefers a function that
// takes text, which somebody else may have created in a schema of the search path.
const (
	newPetList = "name, category_id, status" // columns
	petList    = "id, " + newPetList
	sequence   = "'petstore.pets_id_seq'::regclass"

	insertPet = "INSERT INTO petstore.pets (" + newPetList + ") VALUES ($1, $2, $3) RETURNING id"

	// These return no row if the idempotency key is in use.
	insertIdempotencyKey = "INSERT INTO petstore.idempotency_keys (key, key_id, fingerprint, pet_id)" +
		" VALUES ($1, $2, $3, nextval(" + sequence + ")) ON CONFLICT DO NOTHING RETURNING pet_id"
	insertNumbered = "INSERT INTO petstore.pets (id, " + newPetList + ") OVERRIDING SYSTEM VALUE"
	insertPetOfKey = insertNumbered + " VALUES ($1, $2, $3, $4)"
	insertBoth     = "WITH new AS (" + insertIdempotencyKey + ") " + insertNumbered +
		" SELECT pet_id, $4, $5, $6 FROM new RETURNING id"

	// These also write to the write-ahead log, so that their commits wait until a
	// standby has the rows: the wait after the insert may have been canceled.
	logged               = ", pg_logical_emit_message(true, 'petstore'::text, ''::text)"
	selectIdempotencyKey = "SELECT pet_id, fingerprint" + logged +
		" FROM petstore.idempotency_keys WHERE key = $1 AND key_id = $2"
	selectPetOfKey = "SELECT " + petList + logged + " FROM petstore.pets WHERE id = $1"

	selectPet = "SELECT " + petList + " FROM petstore.pets WHERE id = $1"

	selectOldIdempotencyKeys = "SELECT key FROM petstore.idempotency_keys" +
		" WHERE created_at < $1 ORDER BY created_at LIMIT 1000"
	deleteIdempotencyKeys = "DELETE FROM petstore.idempotency_keys WHERE key = ANY ($1) AND created_at < $2"
)

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet, key pets.IdempotencyKey) (made pets.Pet, err error) {
	if key.IsZero() {
		made.NewPet = p
		err = s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return explainInsert(c.QueryRow(ctx, insertPet, fields(&made)[1:]...).Scan(&made.ID))
		})
	} else {
		err = s.Write(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
			made, err = s.createOnce(ctx, c, p, key)
			return err
		})
	}
	if err != nil {
		return pets.Pet{}, err
	}
	return made, nil
}

// createOnce creates p, or returns the pet that its idempotency key has created.
func (s *Store) createOnce(ctx context.Context, c *pgx.Conn, p pets.NewPet, key pets.IdempotencyKey) (pets.Pet, error) {
	made := pets.Pet{NewPet: p}
	newKey := []any{key.Key, key.KeyID, p.Fingerprint()}
	insert := func() error {
		return c.QueryRow(ctx, insertBoth, append(newKey, fields(&made)[1:]...)...).Scan(&made.ID)
	}
	if s.Citus {
		insert = func() error { return insertApart(ctx, c, newKey, &made) }
	}
	err := insert()
	if errors.Is(err, pgx.ErrNoRows) {
		return s.repeat(ctx, c, p, key)
	}
	return made, explainInsert(err)
}

// repeat returns the pet that an idempotency key has created, if p has the same values.
func (s *Store) repeat(
	ctx context.Context, c *pgx.Conn, p pets.NewPet, key pets.IdempotencyKey,
) (made pets.Pet, err error) {
	var fingerprint []byte
	err = c.QueryRow(ctx, selectIdempotencyKey, key.Key, key.KeyID).Scan(&made.ID, &fingerprint, nil)
	if err == nil {
		err = p.CheckRepeat(fingerprint)
	}
	if err == nil {
		err = c.QueryRow(ctx, selectPetOfKey, made.ID).Scan(append(fields(&made), nil)...)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		if s.Citus { // its commit may still be in progress
			return made, errors.New("the pet of the idempotency key is not visible")
		}
		err = pets.ErrRemoved
	}
	return made, err
}

// explainInsert adds to an error of inserting a pet what the operator can do. On Citus, the
// name of the constraint has a number at its end.
func explainInsert(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.ConstraintName, "pets_pkey") {
		return fmt.Errorf("the next number of petstore.pets_id_seq is that of a stored pet; raise it with setval: %w", err)
	}
	return err
}

// ForgetIdempotencyKeys implements pets.Store. The DELETE repeats the time, so a newer row with the
// same key stays. The time is the server's; Citus allows no now() in a DELETE, so it is read first.
func (s *Store) ForgetIdempotencyKeys(ctx context.Context, age time.Duration) (n int, err error) {
	err = s.Write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var now time.Time
		if err := c.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
			return err
		}
		before := now.Add(-age)
		rows, _ := c.Query(ctx, selectOldIdempotencyKeys, before) // CollectRows returns the error
		old, err := pgx.CollectRows(rows, pgx.RowTo[string])
		n = len(old)
		if err == nil && n > 0 {
			_, err = c.Exec(ctx, deleteIdempotencyKeys, old, before)
		}
		return err
	})
	return n, err
}

func (s *Store) Pet(ctx context.Context, id int64) (p pets.Pet, err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, selectPet, id).Scan(fields(&p)...)
		if errors.Is(err, pgx.ErrNoRows) {
			err = pets.NoSuchPet(id)
		}
		return err
	})
	return p, err
}

// Pets implements pets.Store. It selects one row more than the page may hold, to see
// whether there is a next page. A walk may miss a pet that is committed behind it, because
// identifiers are assigned earlier, but none that was acknowledged when the walk began.
func (s *Store) Pets(ctx context.Context, q pets.ListQuery) (page pets.ListPage, err error) {
	sql, args := selectList(q, s.Citus)
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		page = pets.ListPage{}
		var p pets.Pet
		rows, _ := c.Query(ctx, sql, args...) // ForEachRow returns the error
		_, err := pgx.ForEachRow(rows, fields(&p), func() error { page.Add(p, q.Limit); return nil })
		return err
	})
	return page, err
}

// selectList returns the statement that selects the pets of q, and its arguments. A page ends with
// the pet that brings its texts to pets.MaxPageText, so the names after it are not sent: on Citus
// they are, because a SELECT around another would cost a transaction on every node.
func selectList(q pets.ListQuery, citus bool) (sql string, args []any) {
	where, order, args := "id > $1", "id", []any{q.After}
	if q.Status != "" {
		// This means status = $1 AND id > $2, for which the planner may scan the whole primary
		// key. Only the index of both columns has this order.
		where, order, args = "(status, id) > ($1, $2) AND status <= $1", "status, id", []any{string(q.Status), q.After}
	}
	limit := strconv.Itoa(q.Limit + 1) // if a parameter, PostgreSQL plans each page anew
	page := "SELECT " + petList + " FROM petstore.pets WHERE " + where + " ORDER BY " + order + " LIMIT " + limit
	if citus {
		return page, args
	}
	// The bytes of the names before.
	earlier := "sum(octet_length(name)) OVER (ORDER BY " + order + ") - octet_length(name)"
	name := "CASE WHEN " + earlier + " < " + strconv.Itoa(pets.MaxPageText) + " THEN name ELSE '' END"
	return "SELECT id, " + name + ", category_id, status FROM (" + page + ") page ORDER BY " + order, args
}
