package sqlite

import (
	"fmt"
	"sync/atomic"

	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// health is the state of the file, as far as the store has learnt it. Readers, the
// committer and Ping share it.
type health struct {
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
func (h *health) met(err error) {
	switch _, primary := dbfile.Code(err); primary {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		h.corruptions.Add(1)
		h.damage.CompareAndSwap(nil, &pets.Error{Kind: pets.Unavailable, Message: "the database is damaged; petstore verify says where", Err: err})
	case lib.SQLITE_FULL:
		h.diskFull.Store(true)
	}
}

// fail notes that the store can no longer vouch for the writes that it acknowledges,
// and returns the first reason. The next process is told of a disk that failed.
func (h *health) fail(cause error) error {
	cause = nameOperation(cause)
	failure := &pets.Error{Kind: pets.Internal, Message: "the database can no longer be written to", Err: cause}
	if h.failure.CompareAndSwap(nil, failure) {
		if isDiskFailure(cause) {
			if err := dbfile.MarkFailed(h.file, cause); err != nil {
				failure.Err = fmt.Errorf("%w (and that could not be noted for the next start: %w)", cause, err)
			}
		}
		h.failed <- failure
	}
	return h.failure.Load()
}

// check returns why another replica could do better than this one, or nil. A
// full disk is no such reason: reads go on.
func (h *health) check() error {
	if failure := h.failure.Load(); failure != nil {
		return failure
	}
	if err := h.files.stillThere(); err != nil {
		return h.fail(err)
	}
	if damage := h.damage.Load(); damage != nil {
		return damage
	}
	return nil
}
