//go:build unix

package pgtest

import (
	"sync"
	"testing"
)

// DatabasePool keeps the databases of finished tests for later tests. To make and
// migrate a database takes ten times as long as to empty one with the schema.
type DatabasePool struct {
	owner  testing.TB
	server string

	mu   sync.Mutex
	free []string
}

// NewDatabasePool returns an empty pool on the server at address, or on the
// shared server where that is "". Its databases are dropped after the test t.
func NewDatabasePool(t testing.TB, address string) *DatabasePool {
	t.Helper()
	if address == "" {
		address = sharedAddress(t)
	}
	return &DatabasePool{owner: t, server: address}
}

// emptyTables empties every table and restarts every sequence, except those of
// the migrations. TRUNCATE would make new files, which takes ten times as long
// where the disk is busy.
const emptyTables = `DO $$ DECLARE c record; BEGIN
FOR c IN SELECT relkind, oid::regclass AS name FROM pg_class
	WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') AND relname NOT LIKE 'goose%' LOOP
	IF c.relkind = 'r' THEN EXECUTE 'DELETE FROM ' || c.name;
	ELSE PERFORM setval(c.name, (SELECT seqstart FROM pg_sequence WHERE seqrelid = c.name), false);
	END IF;
END LOOP;
END $$`

// Take returns the address of a database without rows: a new database, without
// tables either, or a released one. It is released after the test, or earlier by
// release.
func (p *DatabasePool) Take(t testing.TB) (address string, release func()) {
	t.Helper()
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		address, p.free = p.free[n-1], p.free[:n-1]
	}
	p.mu.Unlock()
	if address == "" {
		address = createDatabase(t, p.owner, p.server, "")
	} else {
		Exec(t, address, emptyTables)
	}
	release = sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, address)
	})
	t.Cleanup(release)
	return address, release
}
