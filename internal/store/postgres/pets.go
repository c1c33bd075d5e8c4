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

// petColumns returns the columns of a pet and pointers to their fields in p.
func petColumns(p *pets.Pet) (names []string, fields []any) {
	for _, c := range []struct {
		name  string
		field any
	}{
		{"id", &p.ID},
		{"name", &p.Name},
		{"category_id", &p.CategoryID},
		{"status", (*string)(&p.Status)},
	} {
		names, fields = append(names, c.name), append(fields, c.field)
	}
	return names, fields
}

func petFields(p *pets.Pet) []any {
	_, fields := petColumns(p)
	return fields
}

var (
	petNames, _ = petColumns(&pets.Pet{})
	petList     = strings.Join(petNames, ", ")
	newPetList  = strings.Join(petNames[1:], ", ")
	parameters  = parameterList(len(petNames) - 1)
	sequence    = "$name$SCHEMA.pets_id_seq$name$"

	insertPet            = "INSERT INTO SCHEMA.pets (" + newPetList + ") VALUES (" + parameters + ") RETURNING id"
	insertIdempotencyKey = "INSERT INTO SCHEMA.idempotency_keys (key, key_id, fingerprint, pet_id) VALUES ($1, $2, $3, nextval(" + sequence + "))"
	insertItsPet         = "INSERT INTO SCHEMA.pets (id, " + newPetList + ") OVERRIDING SYSTEM VALUE VALUES (currval(" + sequence + "), " + parameters + ") RETURNING id"

	// These also write to the write-ahead log, so that their commits wait until a
	// standby has the rows: the wait after the insert may have been canceled.
	logged               = ", pg_logical_emit_message(true, '" + name + "', '')"
	selectIdempotencyKey = "SELECT pet_id, fingerprint" + logged + " FROM SCHEMA.idempotency_keys WHERE key = $1 AND key_id = $2"
	selectMade           = "SELECT " + petList + logged + " FROM SCHEMA.pets WHERE id = $1"

	selectPet = "SELECT " + petList + " FROM SCHEMA.pets WHERE id = $1"

	// The limit is added as text: with a parameter, PostgreSQL plans each page anew.
	selectPets = "SELECT " + petList + " FROM SCHEMA.pets WHERE id > $1 ORDER BY id LIMIT "

	// Only the index of both columns has this order. With status = $1, the planner may
	// scan the primary key for pets of the status, all of which may be at its end.
	selectPetsByStatus = "SELECT " + petList + " FROM SCHEMA.pets WHERE (status, id) > ($1, $2) AND status <= $1 ORDER BY status, id LIMIT "

	selectOldIdempotencyKeys = "SELECT key FROM SCHEMA.idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT 1000"
	deleteIdempotencyKeys    = "DELETE FROM SCHEMA.idempotency_keys WHERE key = ANY ($1) AND created_at < $2"
)

// sql returns a statement on the tables of the store. It names their schema, because the
// default search path begins with one of the user's name: if that appears, its tables
// replace those of public, for open connections, too.
func (s *Store) sql(statement string) string {
	return strings.ReplaceAll(statement, "SCHEMA", pgx.Identifier{s.schema}.Sanitize())
}

// parameterList returns $1, $2 and so on to $n.
func parameterList(n int) string {
	list := "$1"
	for i := 2; i <= n; i++ {
		list += fmt.Sprintf(", $%d", i)
	}
	return list
}

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet, key pets.IdempotencyKey) (made pets.Pet, err error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if err := key.Validate(); err != nil {
		return pets.Pet{}, err
	}
	if key.IsZero() {
		made.NewPet = p
		err = s.writeOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return explainInsert(c.QueryRow(ctx, s.sql(insertPet), petFields(&made)[1:]...).Scan(&made.ID))
		})
	} else {
		err = s.write(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
			made, err = s.createOnce(ctx, c, p, key)
			return err
		})
	}
	if err != nil {
		return pets.Pet{}, err
	}
	return made, nil
}

// createOnce creates p, or returns the pet that its idempotency key has created. The batch
// is a transaction by itself, but not on Citus, where its rows may be on different nodes.
func (s *Store) createOnce(
	ctx context.Context, c *pgx.Conn, p pets.NewPet, key pets.IdempotencyKey,
) (made pets.Pet, err error) {
	made.NewPet = p
	fingerprint := p.Fingerprint()
	repeated := true // the key is in use, if it violates the table's only unique index
	var b pgx.Batch
	if s.citus {
		b.Queue("BEGIN")
		b.Queue("SET LOCAL client_min_messages = debug1") // see keepWarning
	}
	b.Queue(s.sql(insertIdempotencyKey), key.Key, key.KeyID, fingerprint).Exec(func(pgconn.CommandTag) error {
		repeated = false
		return nil
	})
	scanID := func(row pgx.Row) error { return row.Scan(&made.ID) }
	b.Queue(s.sql(insertItsPet), petFields(&made)[1:]...).QueryRow(scanID)
	if s.citus {
		b.Queue("COMMIT")
	}
	err = c.SendBatch(ctx, &b).Close()
	if err != nil && c.PgConn().TxStatus() == 'E' { // the COMMIT was not executed
		err = rolledBack(err)
		_, _ = c.Exec(ctx, "ROLLBACK")
	}
	if !repeated || codeOf(err) != uniqueViolation {
		return made, explainInsert(err)
	}
	err = c.QueryRow(ctx, s.sql(selectIdempotencyKey), key.Key, key.KeyID).Scan(&made.ID, &fingerprint, nil)
	if err == nil {
		err = p.CheckRepeat(fingerprint)
	}
	if err == nil {
		err = c.QueryRow(ctx, s.sql(selectMade), made.ID).Scan(append(petFields(&made), nil)...)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		if s.citus { // perhaps its commit goes on
			return made, errors.New("the pet of the idempotency key is not visible")
		}
		err = pets.ErrRemoved
	}
	return made, err
}

const uniqueViolation = "23505"

// explainInsert adds to an error of inserting a pet what the operator can do.
func explainInsert(err error) error {
	if codeOf(err) == uniqueViolation {
		return fmt.Errorf("the next number of pets_id_seq is that of a stored pet; raise it with setval: %w", err)
	}
	return err
}

// ForgetIdempotencyKeys implements pets.Store. A key is old for every API key that used
// it then, so the pair need not be compared.
func (s *Store) ForgetIdempotencyKeys(ctx context.Context, before time.Time) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, _ := c.Query(ctx, s.sql(selectOldIdempotencyKeys), before) // CollectRows returns the error
		old, err := pgx.CollectRows(rows, pgx.RowTo[string])
		n = len(old)
		if err == nil && n > 0 {
			_, err = c.Exec(ctx, s.sql(deleteIdempotencyKeys), old, before)
		}
		return err
	})
	return n, err
}

func (s *Store) Pet(ctx context.Context, id int64) (p pets.Pet, err error) {
	err = s.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, s.sql(selectPet), id).Scan(petFields(&p)...)
		if errors.Is(err, pgx.ErrNoRows) {
			err = pets.NoSuchPet(id)
		}
		return err
	})
	return p, err
}

// Pets implements pets.Store. It selects one row more than the page may hold, to learn
// whether there is a next page. A walk may miss a pet that is committed behind it, because
// identifiers are assigned earlier, but none that was acknowledged when it began.
func (s *Store) Pets(ctx context.Context, q pets.Query) (page pets.Page, err error) {
	query, args := selectPets, []any{q.After}
	if q.Status != "" {
		query, args = selectPetsByStatus, []any{string(q.Status), q.After}
	}
	err = s.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		page = pets.Page{}
		rows, _ := c.Query(ctx, s.sql(query)+strconv.Itoa(q.Limit+1), args...) // rows.Err returns the error
		defer rows.Close()
		for rows.Next() {
			var p pets.Pet
			if err := rows.Scan(petFields(&p)...); err != nil {
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
