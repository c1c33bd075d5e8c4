package sqlite

import (
	"database/sql"
	"strings"

	"example.com/petstore/internal/pets"
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
