//go:build postgres

package main

import (
	"strings"
	"testing"

	"example.com/petstore/internal/store/address"
	"example.com/petstore/internal/store/postgres/pgtest"
)

func init() { runTests = pgtest.Main }

func TestScriptsOnPostgres(t *testing.T) {
	runScripts(t, "postgres", func(string) string { return pgtest.Database(t) })
}

// TestPostgresAdvice checks that an error of PostgreSQL comes with advice.
func TestPostgresAdvice(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		pgtest.Shared(t).Address("absent"): `database "absent" does not exist; create it with: createdb -O petstore -E UTF8 -T template0 NAME`,
		"postgres://a@b@c/d":               "the store address is malformed: unexpected @; give postgres://USER:PASSWORD@HOST",
	} {
		_, err := openStore(t.Context(), environment{stderr: t.Output()}, addr, address.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", addr, err, want)
		}
	}
}
