//go:build unix

package upkeep_test

import (
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

func TestASoundDatabaseIsVerified(t *testing.T) {
	path := freshPath(t)
	s := open(t, path)
	mustCreate(t, s, "Rex")
	mustCreate(t, s, "Tom")
	got, err := upkeep.Verify(t.Context(), path) // beside a server
	if err != nil || got.Err() != nil || got.Animals != 2 || got.Keys != 0 || got.Schema < 2 || got.Bytes == 0 {
		t.Errorf("got %+v (error %v), want two animals and no damage", got, err)
	}
}

func TestADamagedPageIsFoundWhateverIsOnIt(t *testing.T) {
	for _, table := range []string{"pets", "pets_by_status", "keys"} {
		path := freshPath(t)
		fillAndDamage(t, path, table)
		got, err := upkeep.Verify(t.Context(), path)
		if err != nil || got.Err() == nil {
			t.Errorf("a page of %s: got %+v (error %v), want damage reported", table, got, err)
		}
	}
}

// fillAndDamage makes a database with many animals and keys and overwrites the last
// page of a table or an index, as a failing disk would.
func fillAndDamage(t *testing.T, path, table string) {
	t.Helper()
	s := open(t, path)
	if _, err := s.Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
		for range 2000 {
			if !yield(pets.NewPet{Name: strings.Repeat("x", 90), Status: pets.Sold}, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var page int64
	err = db.QueryRowContext(t.Context(), "SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", table).Scan(&page)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatalf("finding a page of %s: got error %v", table, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(strings.Repeat("\xa5", 4096)), (page-1)*4096)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
