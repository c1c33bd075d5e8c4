//go:build unix

package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"slices"
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
	if err != nil || got.Err() != nil || got.Pets != 2 || got.Keys != 0 || got.Schema < 2 || got.Bytes == 0 {
		t.Errorf("got %+v (error %v), want two pets and no damage", got, err)
	}
}

func TestVerifyNamesThePetsThatCannotBeRead(t *testing.T) {
	path := freshPath(t)
	lost := fillAndDamage(t, path)
	got, err := upkeep.Verify(t.Context(), path)
	if err != nil {
		t.Fatalf("got error %v, want a report", err)
	}
	if !slices.Equal(got.Unreadable, lost) || len(got.Problems) == 0 {
		t.Errorf("unreadable: got %v (problems %q), want %v", got.Unreadable, got.Problems, lost)
	}
	for _, ids := range lost {
		if err := got.Err(); err == nil || !strings.Contains(err.Error(), "animals that cannot be read: "+ids.String()) {
			t.Errorf("got error %v, want it to name %v", err, ids)
		}
	}
	if want := damagedPets - idsIn(lost); got.Pets != want {
		t.Errorf("pets that can be read: got %d, want %d", got.Pets, want)
	}
}

func TestVerifySaysThatNoPetCanBeRead(t *testing.T) {
	path := freshPath(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	overwriteRootPage(t, path, "pets")
	got, err := upkeep.Verify(t.Context(), path)
	if want := []upkeep.Range{{First: 1, Last: pets.MaxID}}; err != nil || !slices.Equal(got.Unreadable, want) {
		t.Errorf("got %+v (error %v), want %v unreadable", got, err, want)
	}
}

const damagedPets = 2000

func idsIn(ranges []upkeep.Range) (n int64) {
	for _, r := range ranges {
		n += r.Last - r.First + 1
	}
	return n
}

// fillAndDamage makes a database of damagedPets pets, two of whose pages are
// overwritten, and returns the identifiers of the pets that were on them.
func fillAndDamage(t *testing.T, path string) (lost []upkeep.Range) {
	t.Helper()
	s := open(t, path)
	if _, err := s.Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
		for range damagedPets {
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
	ids := idsByPage(t, path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{3, 10} {
		if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 4096)), (ids[i].page-1)*4096); err != nil {
			t.Fatal(err)
		}
		lost = append(lost, ids[i].Range)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return lost
}

type pageOfPets struct {
	page int64
	upkeep.Range
}

// idsByPage returns which pets are on which leaf page of their table. SQLite's
// dbstat, which tells, visits them in the order of identifiers.
func idsByPage(t *testing.T, path string) (pages []pageOfPets) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT pageno, ncell FROM dbstat WHERE name = 'pets' AND pagetype = 'leaf' ORDER BY path")
	if err != nil {
		t.Fatal(err)
	}
	next := int64(1)
	for rows.Next() {
		var page, cells int64
		if err := rows.Scan(&page, &cells); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, pageOfPets{page, upkeep.Range{First: next, Last: next + cells - 1}})
		next += cells
	}
	if err := errors.Join(rows.Err(), rows.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if next != damagedPets+1 || len(pages) < 20 {
		t.Fatalf("got %d pets on %d pages, want all on many", next-1, len(pages))
	}
	return pages
}
