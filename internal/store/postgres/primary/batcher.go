package primary

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// maxBatch bounds the calls of one round trip, and so the cost of a batch whose
// statement fails, and its memory: 4 MiB of names.
const maxBatch = 64

// Statement is a statement with the functions that read its result. They run in
// another goroutine, more than once after a failure, and possibly after the call
// has returned an error: the caller uses what they store only after success.
type Statement struct {
	SQL  string
	Args []any

	// Scan reads the result of the statement.
	Scan func(pgx.BatchResults) error

	// AfterCommit, unless nil, runs on the same connection after the commit.
	AfterCommit func(context.Context, *pgx.Conn) error
}

// call is a statement on its way through a batcher.
type call struct {
	Statement
	state atomic.Int32
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

// batcher runs all writes or all reads, each kind on connections of its own.
type batcher struct {
	cluster *cluster
	writes  bool
	breaker breaker
	queue   chan *call
	load    load
	workers sync.WaitGroup
	stop    chan struct{}
}

// execute runs the calls as one batch, all of them or none. It ignores that a
// caller leaves: to cancel a write would end the server's wait for its standby,
// and to cancel a read would cost the connection.
func (b *batcher) execute(calls []*call) {
	err := b.cluster.withConn(b.writes, &b.breaker, func(ctx context.Context, c *pgx.Conn) error {
		calls = slices.DeleteFunc(calls, func(c *call) bool { return !c.state.CompareAndSwap(waiting, sent) })
		if len(calls) == 0 {
			return nil
		}
		if err := b.failOnWarning(c, func() error { return sendBatch(ctx, c, calls) }); err != nil {
			return err
		}
		for _, call := range calls {
			if call.err == nil && call.AfterCommit != nil {
				call.err = b.failOnWarning(c, func() error { return call.AfterCommit(ctx, c) })
			}
		}
		return nil
	})
	if len(calls) > 1 && isOfOneStatement(err) {
		for _, call := range calls {
			call.state.Store(waiting) // the server rolled back the batch
		}
		for _, c := range calls {
			b.execute([]*call{c})
		}
		return
	}
	for _, call := range calls {
		if err != nil {
			call.err = err
		}
		close(call.done)
	}
}

// failOnWarning runs f, and for writes turns a WARNING of the server into an error.
func (b *batcher) failOnWarning(c *pgx.Conn, f func() error) error {
	if b.writes {
		return FailOnWarning(c, f)
	}
	return f()
}

// sendBatch runs the statements in one transaction, which has committed when
// sendBatch returns nil.
func sendBatch(ctx context.Context, c *pgx.Conn, calls []*call) error {
	var batch pgx.Batch
	for _, call := range calls {
		batch.Queue(call.SQL, call.Args...)
	}
	results := c.SendBatch(ctx, &batch)
	for _, call := range calls {
		call.err = call.Scan(results)
	}
	return results.Close()
}

// isOfOneStatement reports whether the error of a batch may come from one of its
// statements, so that the others succeed without it.
func isOfOneStatement(err error) bool {
	if err == nil {
		return false
	}
	o := OutcomeOf(err)
	return o == BadInput || o == NeedsOperator
}
