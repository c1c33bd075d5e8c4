package primary

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Statement is a statement with the functions that read its result. They run in
// another goroutine, more than once after a failure, and possibly after the call
// has returned an error: the caller uses what they store only after success.
type Statement struct {
	SQL  string
	Args []any

	// WithXmin, unless empty, is SQL with the column xmin after the others. A
	// standby may run it: its rows must never change and never be deleted. Scan
	// reads them by Query, and does not see the column.
	WithXmin string

	// Scan reads the result of the statement.
	Scan func(pgx.BatchResults) error

	// AfterCommit, unless nil, runs on the same connection after the commit.
	AfterCommit func(context.Context, *pgx.Conn) error
}

// call is a statement on its way through a batcher.
type call struct {
	Statement
	state atomic.Int32
	since position // of a call for a standby: how far it must have come
	err   error
	done  chan struct{} // closed once err is final
}

func newCall(st Statement) *call { return &call{Statement: st, done: make(chan struct{})} }

// The states of a call. A caller may withdraw a call that waits. The outcome of
// a write that was sent is unknown until the server responds.
const (
	waiting int32 = iota
	sent
	withdrawn
)
