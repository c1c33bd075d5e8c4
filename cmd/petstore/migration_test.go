//go:build postgres

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// The additions of the next version of the program: two migrations, as
// the rule in postgres/migrate.go allows them, and a column that writes name.
var nextVersion = map[string]string{
	"migrations/90001_chips.sql": `-- +goose Up
ALTER TABLE pets ADD COLUMN weight bigint, ADD COLUMN chip text NOT NULL DEFAULT 'none';
ALTER TABLE keys ADD COLUMN note text;
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, pet bigint NOT NULL);
CREATE INDEX orders_by_pet ON orders (pet);
`,
	"migrations/90002_chips.sql": `-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY pets_by_chip ON pets (chip);
`,
}

// buildNextVersion builds the next version of the program from this one's files
// and those that differ.
func buildNextVersion(t *testing.T) (path string) {
	t.Helper()
	store, err := filepath.Abs("../../internal/pets/store/postgres")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := os.ReadFile(filepath.Join(store, "columns.go"))
	if err != nil || strings.Count(string(columns), columnsOld) != 1 {
		t.Fatalf("columns.go: got no %q to replace (error %v)", columnsOld, err)
	}
	files := map[string]string{filepath.Join(store, "columns.go"): strings.Replace(string(columns), columnsOld, columnsNew, 1)}
	for name, text := range nextVersion {
		files[filepath.Join(store, name)] = text
	}
	return buildWith(t, files)
}

// startProgram starts a replica in a process of its own and waits until it
// serves.
func startProgram(t *testing.T, path, store string, args ...string) *replica {
	t.Helper()
	p := &runningProgram{exited: make(chan int, 1)}
	cmd := exec.Command(path, append([]string{"serve"}, args...)...)
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+testKey, "PETSTORE_STORE="+store, "PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_DRAIN=0s")
	cmd.Stderr = &p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		_ = cmd.Wait()
		p.exited <- cmd.ProcessState.ExitCode()
	}()
	address, err := p.address()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{
		url:    strings.TrimSuffix(address, "/v1"),
		cancel: func() { _ = cmd.Process.Signal(syscall.SIGTERM) },
		exit:   p.exited,
	}
	t.Cleanup(func() { r.stop(t) })
	return r
}

// Replicas of the next version replace the replicas of this one, one after the
// other. The first of them migrates. From then on until the last old replica has
// gone, both versions work beside each other on the newer schema.
func TestANewerVersionReplacesAnOlderOneAcrossItsMigrationUnderLoad(t *testing.T) {
	t.Parallel()
	newer := buildNextVersion(t)
	database := pgtest.Database(t)
	address := withParameter(database, "pool_max_conns=8")
	start := func() *replica { return startProgram(t, newer, address, "--drain", drain) }
	rollOver(t, address, start)

	for _, chip := range []string{"none", "new"} {
		if n := pgtest.Query[int](t, database, "SELECT count(*) FROM pets WHERE chip = $1", chip); n < 100 {
			t.Errorf("chip %s: got %d pets, want at least 100 by that version", chip, n)
		}
	}
	var stdout, stderr output
	env := map[string]string{"PETSTORE_API_KEYS": testKey, "PETSTORE_STORE": address, "PETSTORE_ADDR": "127.0.0.1:0"}
	status := run(t.Context(), environment{
		args: []string{"serve"}, getenv: func(name string) string { return env[name] },
		stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
	})
	said := strings.TrimSpace(stderr.String())
	if status == 0 || strings.Contains(said, "\n") || !strings.Contains(said, "its schema is at version 90002 and this program knows versions up to 2; run a newer petstore") {
		t.Errorf("an older replica started on the newer schema: got status %d and %q, want one sentence that asks for a newer petstore", status, said)
	}
}
