//go:build postgres

package postgres_test

import (
	"testing"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/pets/store/storetest"
)

func TestPostgreSQLBehindPgBouncerKeepsTheContract(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	keepsTheContract(t, pgtest.NewDatabasePool(t, server.Address("postgres")), server.Pooler(t).Address)
}

func TestReplicasBehindPgBouncerMigrateAtOnce(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	pooler := server.Pooler(t)
	for range 3 {
		direct := pgtest.CreateDatabase(t, server.Address("postgres"), "")
		migrateAtOnce(t, direct, pooler.Address(direct))
	}
}

func TestReplicasBehindPgBouncerAreLinearizable(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Pooler(t).Address(server.Address("postgres"))
	storetest.Linearizable(t, open(t, address), open(t, address))
}
