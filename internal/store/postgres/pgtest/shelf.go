package pgtest

import (
	"sync"
	"testing"
)

// Shelf keeps databases that a test is done with, for the next. To make one, and
// to migrate it, takes ten times as long as to empty one that has the schema.
type Shelf struct {
	owner  testing.TB
	server string

	mu   sync.Mutex
	free []string
}

// NewShelf returns an empty shelf on the server at address, or on the shared one
// where there is none. What it holds is dropped after the test t.
func NewShelf(t testing.TB, address string) *Shelf {
	t.Helper()
	if address == "" {
		address = sharedAddress(t)
	}
	return &Shelf{owner: t, server: address}
}

// emptied has every table and sequence begin anew, but for those that say which
// migrations there were. TRUNCATE would make new files, which takes ten times as
// long where the disk is busy.
const emptied = `DO $$ DECLARE c record; BEGIN
FOR c IN SELECT relkind, oid::regclass AS name FROM pg_class
	WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') AND relname NOT LIKE 'goose%' LOOP
	IF c.relkind = 'r' THEN EXECUTE 'DELETE FROM ' || c.name;
	ELSE PERFORM setval(c.name, (SELECT seqstart FROM pg_sequence WHERE seqrelid = c.name), false);
	END IF;
END LOOP;
END $$`

// Take returns the address of a database without a row: a new one, without a
// table either, or one that was released. It is released after the test, or
// before, once nobody uses it any more.
func (s *Shelf) Take(t testing.TB) (address string, release func()) {
	t.Helper()
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		address, s.free = s.free[n-1], s.free[:n-1]
	}
	s.mu.Unlock()
	if address == "" {
		address = createDatabase(t, s.owner, s.server, "")
	} else {
		Exec(t, address, emptied)
	}
	release = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, address)
	})
	t.Cleanup(release)
	return address, release
}
