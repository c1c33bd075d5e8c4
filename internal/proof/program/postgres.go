//go:build linux && postgres

package program

import (
	"testing"

	"example.com/petstore/engine/db/postgres/pgtest"
)

func init() {
	Stores["postgres"] = func(t testing.TB) func() string {
		server := pgtest.Start(t)
		return func() string { return server.Database(t) }
	}
}
