package sqlite

import (
	"fmt"
	"sync/atomic"

	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// fileState is the state of the file, as far as the store has learnt it. Readers, the
// committer and Ping share it.
type fileState struct {
	file   string // the database
	files  openedFiles
	failed chan error           // has room for the one error it is sent
	notify func(message string) // told notices for the operator

	failure     atomic.Pointer[pets.Error] // why the process must end
	damage      atomic.Pointer[pets.Error] // why the server is not ready, though it reads
	corruptions atomic.Uint64
	diskFull    atomic.Bool
	commits     atomic.Uint64
	writes      atomic.Uint64
	held        atomic.Int64 // bytes of the log that readers keep out of the file
}

// met notes an error of SQLite.
func (f *fileState) met(err error) {
	_, primary := dbfile.Code(err)
	switch {
	case dbfile.IsCorrupt(err):
		f.corruptions.Add(1)
		f.damage.CompareAndSwap(nil, &pets.Error{Kind: pets.Unavailable, Message: "the database is damaged; petstore verify says where", Err: err})
	case primary == lib.SQLITE_FULL:
		f.diskFull.Store(true)
	}
}

// fail notes that the store can no longer vouch for the writes that it acknowledges,
// and returns the first reason. The next process is told of a disk that failed.
func (f *fileState) fail(cause error) error {
	cause = nameOperation(cause)
	failure := &pets.Error{Kind: pets.Internal, Message: "the database can no longer be written to", Err: cause}
	if f.failure.CompareAndSwap(nil, failure) {
		if isDiskFailure(cause) {
			if err := dbfile.MarkFailed(f.file, cause); err != nil {
				failure.Err = fmt.Errorf("%w (and that could not be noted for the next start: %w)", cause, err)
			}
		}
		f.failed <- failure
	}
	return f.failure.Load()
}

// check returns why another replica could do better than this one, or nil. A
// full disk is no such reason: reads go on.
func (f *fileState) check() error {
	if failure := f.failure.Load(); failure != nil {
		return failure
	}
	if err := f.files.stillThere(); err != nil {
		return f.fail(err)
	}
	if damage := f.damage.Load(); damage != nil {
		return damage
	}
	return nil
}
