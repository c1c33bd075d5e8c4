package primary

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// executor executes batches of writes or of reads on the primary, each kind on
// connections of its own.
type executor struct {
	*batcher
	cluster *cluster
	breaker breaker
}

func newExecutor(cl *cluster, writes bool) *executor {
	e := &executor{cluster: cl}
	e.batcher = newBatcher(cl.config.MaxConns, writes, e.execute)
	return e
}

// execute runs the calls as one batch, all of them or none. The end of a caller's
// context does not end it. To cancel a write would end the server's wait for its
// standby; to cancel a read would cost the connection.
func (e *executor) execute(calls []*call) {
	err := e.withConn(func(ctx context.Context, c *pgx.Conn) error {
		calls = slices.DeleteFunc(calls, func(c *call) bool { return !c.state.CompareAndSwap(waiting, sent) })
		if len(calls) == 0 {
			return nil
		}
		if err := e.failOnWarning(c, func() error { return sendBatch(ctx, c, calls) }); err != nil {
			return err
		}
		for _, call := range calls {
			if call.err == nil && call.AfterCommit != nil {
				call.err = e.failOnWarning(c, func() error { return call.AfterCommit(ctx, c) })
			}
		}
		return nil
	})
	if len(calls) > 1 && isOfOneStatement(err) {
		for _, call := range calls {
			call.state.Store(waiting) // the server rolled back the batch
		}
		for _, c := range calls {
			e.execute([]*call{c})
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
func (e *executor) failOnWarning(c *pgx.Conn, f func() error) error {
	if e.writes {
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

// withConn runs f with a connection of the current pools and a context that ends
// when they are abandoned. While f runs a watchdog looks after the server.
func (e *executor) withConn(f func(context.Context, *pgx.Conn) error) error {
	p := e.cluster.current.Load()
	var inUse atomic.Pointer[server]
	defer e.cluster.watch(p, &inUse)()
	c, err := p.acquire(e.writes, &e.breaker)
	if err != nil {
		return &Error{Outcome: NotExecuted, Err: err}
	}
	defer c.Release()
	s := serverOf(c.Conn().PgConn())
	inUse.Store(&s)
	ctx := p.ctx
	if !e.writes {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, retryFor)
		defer cancel()
	}
	err = f(ctx, c.Conn())
	if err == nil && e.cluster.timeline.isStale(s) {
		err = errStale // another connection has met the successor meanwhile
	}
	if isDemoted(err) {
		// Released open, it would be used again.
		closing, cancel := context.WithTimeout(p.ctx, connectTimeout)
		defer cancel()
		_ = c.Conn().Close(closing)
	}
	return err
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
