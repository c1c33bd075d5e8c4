package sqlite

import (
	"io/fs"
	"testing"

	"example.com/petstore/internal/pets"
)

// InsertPet is the statement that inserts a pet, with Values.
var InsertPet = insertPet

func Values(p pets.Pet) []any { return values(&p) }

// SetMigrations replaces the migrations until the test ends. It must not run in
// parallel with others.
func SetMigrations(t *testing.T, files fs.FS) {
	old := migrations
	migrations = files
	t.Cleanup(func() { migrations = old })
}
