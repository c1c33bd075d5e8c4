package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// wrong are values that each setting must not have.
var wrong = map[string]string{
	"busy_timeout":       "0",
	"foreign_keys":       "0",
	"synchronous":        "NORMAL",
	"journal_mode":       "DELETE",
	"journal_size_limit": "-1",
	"wal_autocheckpoint": "1000",
	"query_only":         "0",
}

func TestASettingThatDidNotTakeIsRefused(t *testing.T) {
	for role, pragmas := range map[string][]dbfile.Pragma{"writer": dbfile.WriterPragmas, "reader": dbfile.ReaderPragmas} {
		for i, p := range pragmas {
			t.Run(role+" "+p.Name, func(t *testing.T) {
				// The file is in WAL mode already, as for every reader.
				s, path := mustOpen(t)
				if err := s.Close(); err != nil {
					t.Fatalf("closing: got error %v", err)
				}
				others := slices.Clone(pragmas)
				if others[i].Value = wrong[p.Name]; others[i].Value == "" {
					t.Fatalf("got no wrong value of %s to try, want one", p.Name)
				}
				if err := verifyOn(t, path, others, pragmas); err == nil || !strings.Contains(err.Error(), "did not take the setting "+p.Name+"=") {
					t.Errorf("got error %v, want one that names %s", err, p.Name)
				}
				if err := verifyOn(t, path, pragmas, pragmas); err != nil {
					t.Errorf("with all of them right: got error %v, want nil", err)
				}
			})
		}
	}
}

// A database in memory cannot have a write-ahead log, which SQLite does not
// call an error.
func TestAConnectionWhoseSettingsDidNotTakeIsNotUsed(t *testing.T) {
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		t.Fatalf("opening: got error %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := newWriter(t.Context(), db); err == nil || !strings.Contains(err.Error(), "did not take the setting") {
		t.Errorf("a writer: got error %v, want one about a setting", err)
	}
	if _, err := newReader(t.Context(), db); err == nil || !strings.Contains(err.Error(), "did not take the setting") {
		t.Errorf("a reader: got error %v, want one about a setting", err)
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("got %d connections in use, want 0", n)
	}
}

func TestEveryConnectionOfAStoreHasItsSettings(t *testing.T) {
	s, _ := mustOpen(t)
	if err := s.committer.write(t.Context(), func(w *writer) error {
		return dbfile.CheckPragmas(context.Background(), w.conn, dbfile.WriterPragmas)
	}); err != nil {
		t.Errorf("the writer: got error %v, want nil", err)
	}
	for range cap(s.readers.shared) {
		r := <-s.readers.shared
		if err := dbfile.CheckPragmas(t.Context(), r.conn, dbfile.ReaderPragmas); err != nil {
			t.Errorf("a reader: got error %v, want nil", err)
		}
		if _, err := r.conn.ExecContext(t.Context(), "DELETE FROM pets"); err == nil {
			t.Error("writing through a reader: got no error, want it refused")
		}
		s.readers.shared <- r
	}
}

func verifyOn(t *testing.T, path string, set, want []dbfile.Pragma) error {
	t.Helper()
	db, err := sql.Open("sqlite", dbfile.Address(path, set))
	if err != nil {
		t.Fatalf("opening: got error %v", err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatalf("connecting: got error %v", err)
	}
	defer c.Close()
	return dbfile.CheckPragmas(t.Context(), c, want)
}

func TestAKeyIsFoundWhileEveryReaderIsAtWork(t *testing.T) {
	t.Parallel()
	s, _ := mustOpen(t)
	key, _, err := pets.NewKey("anyone's", time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	var begun, over sync.WaitGroup
	release := make(chan struct{})
	waiting := 4 * cap(s.readers.shared) // most of them wait for a reader
	begun.Add(cap(s.readers.shared))
	for range waiting {
		over.Go(func() {
			if err := s.read(context.Background(), func(*reader) error {
				select {
				case <-release:
				default:
					begun.Done()
					<-release
				}
				return nil
			}); err != nil {
				t.Errorf("a read: got error %v, want nil", err)
			}
		})
	}
	begun.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, err := s.Key(ctx, key.ID); err != nil || got.ID != key.ID {
		t.Errorf("a key while no reader is free: got %v (error %v), want it", got, err)
	}
	close(release)
	over.Wait()
}
