//go:build postgres

package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/db/postgres/pgtest"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/service"
)

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
	if _, got, err := send("GET", s.address+example.ListPath(), strings.TrimSpace(string(key)), ""); got != "[]\n" {
		t.Fatalf("got %s, error %v, want []", got, err)
	}
	server.Hang()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log, _ := io.ReadAll(s.rest)
	if err := s.Wait(); fmt.Sprint(err) != "exit status 1" {
		t.Errorf("the end: got %v, want exit status 1", err)
	}
	if want := "petstore: the last uses of API keys were not stored"; !strings.Contains(string(log), want) {
		t.Errorf("got %s, want %q in it", log, want)
	}
}
