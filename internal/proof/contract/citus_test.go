//go:build linux && postgres && citus

package contract

import (
	"testing"

	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

func TestContractCitus(t *testing.T) {
	open := func(address string) *postgres.Store {
		s, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	address := pgtest.Cluster(t, 2)[0].Distributed(t, func(address string) { _ = open(address).Close() })
	newSuiteOn(t, open(address)).run(t)
}
