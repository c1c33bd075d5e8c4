//go:build linux && postgres

package contract

import (
	"testing"

	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

func TestContractPostgres(t *testing.T) {
	s, err := postgres.Open(t.Context(), pgtest.Start(t).Address("postgres"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	onStore(t, s)
}
