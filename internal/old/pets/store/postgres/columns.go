package postgres

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/petstore/internal/old/pets"
)

// column is a column of the table pets, with the property that it holds.
type column struct {
	name  string
	field func(*pets.Pet) any // a pointer to the property
}

// columns has a column for each property of a pet but the identifier. Every statement
// on pets, its arguments, its scan and the COPY of an import are made from this list.
var columns = []column{
	{"name", func(p *pets.Pet) any { return &p.Name }},
	{"category_id", func(p *pets.Pet) any { return &p.CategoryID }},
	{"status", func(p *pets.Pet) any { return &p.Status }},
}

// The other columns: the identifier, which the server gives, and the idempotent
// request that made the pet.
const idColumn = "id"

var idempotencyColumns = []string{"key_id", "idempotency_key"}

// inserted are the columns of an INSERT, and petColumns those of a SELECT.
var (
	inserted   = append(columnNames(), idempotencyColumns...)
	petColumns = strings.Join(append([]string{idColumn}, columnNames()...), ", ")
)

func columnNames() (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// placeholders returns "$1, $2 …", so many.
func placeholders(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(all, ", ")
}

// fields returns pointers to the properties of p, in the order of columns.
func fields(p *pets.Pet) []any {
	pointers := make([]any, 0, len(inserted)+1)
	for _, c := range columns {
		pointers = append(pointers, c.field(p))
	}
	return pointers
}

// insertArgs returns the arguments of InsertPet. They point into a pet of their own.
func insertArgs(p pets.NewPet) []any {
	pet := p.WithID(0)
	return append(fields(&pet), p.Idempotency.KeyID, p.Idempotency.Key)
}

// scanned returns where a row of petColumns is scanned to.
func scanned(p *pets.Pet) []any { return append([]any{&p.ID}, fields(p)...) }

// scanPets reads the rows of a page.
func scanPets(rows pgx.Rows, most int) ([]pets.Pet, error) {
	defer rows.Close()
	animals := make([]pets.Pet, 0, most)
	for rows.Next() {
		animals = append(animals, pets.Pet{})
		p := &animals[len(animals)-1]
		if decodePet(rows, p) {
			continue
		}
		if err := rows.Scan(scanned(p)...); err != nil {
			return nil, err
		}
	}
	return animals, rows.Err()
}

// decodePet decodes a row of petColumns whose values are integers and text in the
// format of a prepared statement, and reports whether they are. Scan, which decodes
// any format, looks it up for each value: a seventh of the processor time of a page.
func decodePet(rows pgx.Rows, p *pets.Pet) bool {
	descriptions, values := rows.FieldDescriptions(), rows.RawValues()
	for i, value := range values {
		var field any = &p.ID
		if i > 0 {
			field = columns[i-1].field(p)
		}
		if !decode(field, descriptions[i].DataTypeOID, descriptions[i].Format, value) {
			return false
		}
	}
	return true
}

func decode(field any, oid uint32, format int16, value []byte) bool {
	switch field := field.(type) {
	case *int64:
		if oid != pgtype.Int8OID || format != pgx.BinaryFormatCode || value == nil {
			return false
		}
		*field = int64(binary.BigEndian.Uint64(value))
	case *string:
		if oid != pgtype.TextOID || value == nil {
			return false
		}
		*field = string(value)
	case *pets.Status:
		if oid != pgtype.TextOID || value == nil {
			return false
		}
		*field = statusOf(value)
	default:
		return false
	}
	return true
}

// statusOf returns the known statuses without an allocation.
func statusOf(value []byte) pets.Status {
	switch {
	case string(value) == string(pets.Available):
		return pets.Available
	case string(value) == string(pets.Pending):
		return pets.Pending
	case string(value) == string(pets.Sold):
		return pets.Sold
	}
	return pets.Status(value)
}
