//go:build linux && postgres && citus

package contract

import (
	"testing"

	"example.com/petstore/internal/db/postgres/pgtest"
)

func TestContractCitus(t *testing.T) {
	open := func(addr string) { _ = openStore(t, addr).Close() }
	newSuiteOn(t, openStore(t, pgtest.Distributed(t, pgtest.Cluster(t, 2), open))).test(t)
}
