//go:build postgres

package postgres_test

import (
	"strings"
	"testing"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/pets/store/storetest"
)

func TestAStoreWhoseRequestsTheDatabaseRefusesIsNotReady(t *testing.T) {
	server := pgtest.Start(t)
	pgtest.Exec(t, server.Address("postgres"), "CREATE ROLE pets LOGIN", "CREATE DATABASE pets OWNER pets")
	superuser := server.Address("pets")
	s := open(t, strings.Replace(superuser, "postgres@", "pets@", 1))
	for _, c := range []struct{ fault, mend string }{
		{"ALTER TABLE pets OWNER TO postgres", "ALTER TABLE pets OWNER TO pets"},
		{"REVOKE SELECT ON pets FROM pets", "GRANT SELECT ON pets TO pets"},
		{"REVOKE INSERT ON pets FROM pets", "GRANT INSERT ON pets TO pets"},
		{"REVOKE SELECT ON keys FROM pets", "GRANT SELECT ON keys TO pets"},
		{"ALTER TABLE keys RENAME TO clefs", "ALTER TABLE clefs RENAME TO keys"},
		{"ALTER TABLE pets RENAME COLUMN status TO state", "ALTER TABLE pets RENAME COLUMN state TO status"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			pgtest.Exec(t, superuser, c.fault)
			storetest.NotReady(t, s, func() { pgtest.Exec(t, superuser, c.mend) })
		})
	}
}

func TestAStoreThatAnImportFillsStaysReady(t *testing.T) {
	address := pgtest.Database(t)
	s := open(t, address)
	pgtest.Lock(t, address, "LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE")
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: got error %v, want nil", err)
	}
}
