package sqlite

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"example.com/petstore/internal/old/pets"
)

// column is a column of the table pets, with the property that it holds.
type column struct {
	name  string
	field func(*pets.Pet) any // a pointer to the property, of a type that database/sql scans into
}

// columns has a column for each property of a pet but the identifier. Every statement
// on pets, its arguments and its scan are made from this list.
var columns = []column{
	{"name", func(p *pets.Pet) any { return &p.Name }},
	{"category_id", func(p *pets.Pet) any { return &p.CategoryID }},
	{"status", func(p *pets.Pet) any { return (*string)(&p.Status) }},
}

// petColumns are the columns of a SELECT, and of an INSERT with identifiers.
var petColumns = "id, " + columnNames()

func columnNames() string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// placeholders has one for each of columns.
var placeholders = strings.TrimPrefix(strings.Repeat(", ?", len(columns)), ", ")

// The statements on pets.
var (
	insertPetOnce      = "INSERT INTO pets (" + columnNames() + ", key_id, idempotency_key) VALUES (" + placeholders + ", ?, ?) ON CONFLICT DO NOTHING"
	selectPetMade      = "SELECT " + petColumns + " FROM pets WHERE key_id = ? AND idempotency_key = ?"
	selectPet          = "SELECT " + petColumns + " FROM pets WHERE id = ?"
	selectPets         = "SELECT " + petColumns + " FROM pets WHERE id > ? ORDER BY id LIMIT ?"
	selectPetsByStatus = "SELECT " + petColumns + " FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?"
)

// The text in the place of an identifier in insertPets.
const (
	newIDs = "NULL" // SQLite gives it one
	ownIDs = "?"
)

// insertPets returns the statement that inserts so many rows. A row of such a
// statement costs a third less than a statement of its own. SQLite keeps the last
// identifier that it gave in a table, and a statement writes that table once.
func insertPets(ids string, rows int) string {
	row := "(" + ids + ", " + placeholders + ")"
	return "INSERT INTO pets (" + petColumns + ") VALUES " + strings.Repeat(row+", ", rows-1) + row
}

// appendValues appends the values of columns to the arguments of a statement.
func appendValues(args []any, p *pets.Pet) []any {
	for _, c := range columns {
		switch field := c.field(p).(type) {
		case *string:
			args = append(args, *field)
		case *int64:
			args = append(args, *field)
		default:
			args = append(args, field) // database/sql reads what it points to
		}
	}
	return args
}

// scanned returns where a row of petColumns is scanned to.
func scanned(p *pets.Pet) []any {
	into := append(make([]any, 0, 1+len(columns)), &p.ID)
	for _, c := range columns {
		into = append(into, c.field(p))
	}
	return into
}

func scanPets(rows *sql.Rows, most int) ([]pets.Pet, error) {
	defer rows.Close()
	animals := make([]pets.Pet, 0, most)
	var p pets.Pet
	into := scanned(&p)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		animals = append(animals, p)
	}
	return animals, rows.Err()
}

// The statements on keys.
const (
	keyColumns = "id, name, hash, read_only, created_at, expires_at, revoked_at, used_at"
	insertKey  = "INSERT INTO keys (id, name, hash, read_only, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
	recordUse  = "UPDATE keys SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at < ?1 OR used_at > ?1 + ?3)"
	revokeKey  = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? RETURNING " + keyColumns
	rotateKey  = "UPDATE keys SET expires_at = min(coalesce(expires_at, ?1), ?1) WHERE id = ?2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3) RETURNING " + keyColumns
	selectKey  = "SELECT " + keyColumns + " FROM keys WHERE id = ?"
	selectKeys = "SELECT " + keyColumns + " FROM keys ORDER BY created_at, rowid"
)

type scanner interface{ Scan(dest ...any) error }

func scanKey(row scanner, k *pets.Key) error {
	var hash []byte
	var created int64
	var expires, revoked, used sql.NullInt64
	if err := row.Scan(&k.ID, &k.Name, &hash, &k.ReadOnly, &created, &expires, &revoked, &used); err != nil {
		return err
	}
	if copy(k.Hash[:], hash) != len(k.Hash) {
		return fmt.Errorf("the hash of key %q has %d bytes", k.ID, len(hash))
	}
	k.CreatedAt = time.Unix(created, 0).UTC()
	k.ExpiresAt, k.RevokedAt, k.UsedAt = timeOrZero(expires), timeOrZero(revoked), timeOrZero(used)
	return nil
}

func unixOrNull(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.Unix(), Valid: !t.IsZero()}
}

func timeOrZero(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(n.Int64, 0).UTC()
}
