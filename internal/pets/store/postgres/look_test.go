//go:build postgres

package postgres_test

import (
	"testing"

	"example.com/petstore/internal/pets/store/postgres"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestALookAtADatabaseChangesNothing(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Address("postgres")
	for range 2 { // the first makes nothing that the second could find
		if older, err := postgres.IsOlder(t.Context(), address); err != nil || !older {
			t.Errorf("an empty database: got older %t (error %v), want true", older, err)
		}
	}
	if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("tables: got %d, want none", n)
	}
	open(t, address)
	if older, err := postgres.IsOlder(t.Context(), address); err != nil || older {
		t.Errorf("after a start: got older %t (error %v), want false", older, err)
	}
}
