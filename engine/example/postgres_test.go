//go:build postgres

package main

import (
	"testing"

	"example.com/petstore/engine/db/postgres/pgtest"
)

func init() {
	stores["postgres"] = func(t *testing.T) string { return pgtest.Start(t).Database(t) }
}
