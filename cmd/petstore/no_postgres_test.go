//go:build !postgres

package main

import "testing"

// storesOnServers is empty where the tests are built without the tag postgres.
var storesOnServers []storeKind

func runTests(m *testing.M) int { return m.Run() }
