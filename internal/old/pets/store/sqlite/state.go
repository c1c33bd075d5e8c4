package sqlite

import (
	"context"
	"database/sql"
	"os"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

var _ pets.StatsReporter = (*Store)(nil)

// Ping implements pets.Store. It reads from both tables, as requests do. It also
// notices that the file was replaced while there were no writes, and ends the store
// then.
func (s *Store) Ping(ctx context.Context) error {
	if s.closed.Load() {
		return pets.ErrClosed
	}
	if ctx.Err() != nil {
		return pets.ErrGaveUp
	}
	if err := s.state.check(); err != nil {
		return &pets.FileFault{Err: err}
	}
	err := s.read(ctx, func(r *reader) error {
		var pet, key sql.NullString
		return r.ping.QueryRow().Scan(&pet, &key)
	})
	if damage := s.state.check(); damage != nil {
		return &pets.FileFault{Err: damage}
	}
	return err
}

// Failed implements pets.Store.
func (s *Store) Failed() <-chan error { return s.state.failed }

// Stats implements pets.StatsReporter.
func (s *Store) Stats(ctx context.Context) pets.Stats {
	stats := pets.Stats{
		Commits:     s.state.commits.Load(),
		Writes:      s.state.writes.Load(),
		Corruptions: s.state.corruptions.Load(),
		DiskFull:    s.state.diskFull.Load(),
		LogHeld:     s.state.held.Load(),
	}
	if info, err := os.Stat(s.file + dbfile.LogSuffix); err == nil {
		stats.LogBytes = info.Size()
	}
	var at sql.NullInt64
	if err := s.read(ctx, func(r *reader) error { return r.lastBackup.QueryRow().Scan(&at) }); err == nil {
		stats.LastBackup = timeOrZero(at)
	}
	return stats
}
