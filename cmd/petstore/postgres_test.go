//go:build postgres

package main

import (
	"testing"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// storesOnServers are the stores that need a server, which is there where the tests
// are built with the tag postgres.
var storesOnServers = []storeKind{
	{name: "postgres", durable: true, address: func(t testing.TB, _ string) string { return pgtest.Database(t) }},
}

// runTests runs the tests and stops the server they share.
func runTests(m *testing.M) int { return pgtest.Main(m) }
