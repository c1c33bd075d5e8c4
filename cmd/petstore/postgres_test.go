//go:build postgres

package main

import (
	"testing"

	"example.com/petstore/internal/store/postgres/pgtest"
)

func init() { runTests = pgtest.Main }

func TestScriptsOnPostgres(t *testing.T) {
	runScripts(t, "postgres", func() string { return pgtest.Database(t) })
}
