//go:build postgres && torture

// Package soak runs the service for a long time under load and accidents. Two
// servers share an SQLite file, and three replicas a PostgreSQL cluster. Meanwhile a
// random sequence of events kills, restarts, fills, fails, hangs, backs up and imports. A
// ledger of the acknowledged animals is compared with a walk at the end. The package
// looks from outside, at processes and over HTTP.
//
// `make soak` runs it for SOAK (1h); SEED repeats a sequence of events.
package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestNothingIsLostOrDoubledWhateverHappens(t *testing.T) {
	length := lengthOf(t)
	seed := seedOf(t)
	t.Logf("SOAK=%v SEED=%d", length, seed)
	for i, deploy := range []struct {
		name  string
		start func(*testing.T, *rand.Rand) *deployment
	}{
		{"sqlite", startSQLite},
		{"postgres", startPostgres},
	} {
		t.Run(deploy.name, func(t *testing.T) {
			t.Parallel()
			d := deploy.start(t, rand.New(rand.NewPCG(seed, uint64(i))))
			d.soak(t, length)
			t.Logf("%s\n%s", deploy.name, d.table())
			d.check(t)
		})
	}
}

func lengthOf(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SOAK")
	if text == "" {
		return time.Hour
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("SOAK: got %q, want a duration such as 1h or 2m", text)
	}
	return d
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("SEED")
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SEED: got %q, want a number", text)
	}
	return seed
}
