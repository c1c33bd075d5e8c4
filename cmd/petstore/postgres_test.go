//go:build postgres

package main

import (
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/service"
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
		"postgres://a@b@c/d":               "the store address is malformed: unexpected @; in a password, write @ as %40",
	} {
		_, err := openStore(t.Context(), environment{stderr: t.Output()}, addr, address.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", addr, err, want)
		}
	}
}

// TestHungPostgres checks that a server ends although PostgreSQL hangs, and says that
// the use of a key was not stored.
func TestHungPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	dsn := server.Address("postgres")
	key, err := exec.Command(service.Name, "keys", "create", "demo", "--store", dsn).Output()
	if err != nil {
		t.Fatal(err)
	}
	s := startLogged(t, "--store", dsn)
	s.key = strings.TrimSpace(string(key))
	if got := s.send("GET", "/v1/pets", ""); got != "[]\n" {
		t.Fatalf("got %s, want []", got)
	}
	server.Hang()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log, _ := io.ReadAll(s.log)
	wantStopped(t, s)
	if want := "petstore: the last uses of API keys were not stored"; !strings.Contains(string(log), want) {
		t.Errorf("got %s, want %q in it", log, want)
	}
}
