package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// foldPages is how many pages this process writes to the log, 4 MiB, before it folds
// the log into the file. Of 250, 1000, 4000 and 16000 pages, 250 took a tenth of the
// creates of 32 clients, and more than 1000 gained none. SQLite's own number is 1000.
const foldPages = 1000

// foldLog copies the log into the file as far as no reader needs the file as it is,
// and waits for nobody. RESTART and TRUNCATE would wait for readers. With TRUNCATE a
// create took 0.55 ms where it takes 0.42, since every log begins by growing anew.
const foldLog = "PRAGMA wal_checkpoint(PASSIVE)"

// folder folds the log. SQLite puts the file on disk only with a fold of all of the
// log. Other parts may be in the kernel's memory alone, and the next such fold learns
// whether they were lost.
type folder struct {
	w        *writer
	state    *fileState
	run      *sql.Stmt
	pageSize int64
	pages    int   // that the log has, at most
	full     error // why the last try failed, where the disk was full
	warnAt   int64 // the size of the part that readers hold back at which to warn again
}

// firstWarning is how many bytes of the log readers may hold back before the
// operator is told: 16 logs of the usual size. Each further notice tells of twice as
// many.
const firstWarning = 64 << 20

func newFolder(ctx context.Context, w *writer, state *fileState) (*folder, error) {
	f := &folder{w: w, state: state, warnAt: firstWarning}
	f.run = w.prepare(ctx, foldLog)
	if w.err != nil {
		return nil, w.err
	}
	return f, w.conn.QueryRowContext(ctx, "PRAGMA page_size").Scan(&f.pageSize)
}

// afterCommit folds the log once it is long enough, and again after each commit until
// the log begins anew: a reader may hold that back, even where all is folded. Only a
// full disk is no reason to end: no page was lost then, since the file refused it.
func (f *folder) afterCommit() error {
	written, err := dbfile.PagesWritten(f.w.conn)
	if f.pages += written; err != nil || f.pages < foldPages {
		return err
	}
	return f.fold()
}

// beforeWrite returns an error while the disk has no room for what was acknowledged
// already.
func (f *folder) beforeWrite() error {
	if f.full == nil {
		return nil
	}
	if err := f.fold(); err != nil {
		return err
	}
	return f.full
}

// fold tries to fold the log. Its error is fatal.
func (f *folder) fold() error {
	var busy bool
	var pages, folded int64
	err := f.run.QueryRow().Scan(&busy, &pages, &folded)
	f.full = nil
	switch {
	case err == nil && pages == folded && !busy:
		f.pages = int(pages) // of a log that the next write begins anew, unless a reader is in it
	case err == nil || dbfile.IsBusy(err): // readers, or another process that folds
	case isFull(err):
		f.full = err
		f.state.met(err)
		return nil
	default:
		return fmt.Errorf("the log could not be folded into the file: %w", err)
	}
	f.noteHeld((pages - folded) * f.pageSize)
	return nil
}

// noteHeld notes how much of the log is not in the file after a fold.
func (f *folder) noteHeld(bytes int64) {
	f.state.held.Store(max(0, bytes))
	if bytes < firstWarning {
		f.warnAt = firstWarning
	} else if bytes >= f.warnAt && f.state.notify != nil {
		f.warnAt = 2 * bytes
		f.state.notify(fmt.Sprintf("a process that reads keeps %d MiB of %s out of the database; it grows until that process ends its transaction (fuser names it)", bytes>>20, f.state.file+dbfile.LogSuffix))
	}
}
