package postgres

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// lane is one of the two kinds of work, writing and reading, each with
// connections of its own. Its carriers take all the calls that wait and have
// them executed in one round trip and, for writes, by one commit: see
// `make bench-postgres` for what that gives.
type lane struct {
	store    *Store
	writes   bool
	pick     func(*pools) *pgxpool.Pool
	queue    chan *turn
	carriers carriers
	outage   outage
}

// mostTurns bounds how many calls are executed together, and so what the
// failure of one costs the others, and the memory of a batch: 4 MiB of names.
const mostTurns = 64

// statement is one that the store executes for a call. The functions must not
// touch what the caller reads before the call has ended well, since a caller
// may leave before it does.
type statement struct {
	sql  string
	args []any
	take func(pgx.BatchResults) error // reads what the statement answers

	// then does what take has found to be left, after the commit; nil where
	// nothing ever is.
	then func(context.Context, *pgx.Conn) error
}

// turn is a statement on its way.
type turn struct {
	statement
	state atomic.Int32
	err   error
	ended chan struct{} // closed once err stands
}

// The states of a turn. A caller who leaves withdraws one that waits; of a
// write that was sent, nobody knows the outcome until the server tells.
const (
	waiting int32 = iota
	sent
	withdrawn
)

// carry has the turns executed, all or none of them, and ends them. Their
// callers do not matter any more: to cancel a write would end the server's wait
// for its standby, and the commit would stand on the primary alone; to cancel a
// read would cost the connection.
func (l *lane) carry(turns []*turn) {
	began := time.Now()
	defer func() { l.carriers.took(time.Since(began)) }()
	err := l.with(func(ctx context.Context, c *pgx.Conn) error {
		turns = slices.DeleteFunc(turns, func(t *turn) bool { return !t.state.CompareAndSwap(waiting, sent) })
		if len(turns) == 0 {
			return nil
		}
		if err := l.run(c, func() error { return together(ctx, c, turns) }); err != nil {
			return err
		}
		for _, t := range turns {
			if t.err == nil && t.then != nil {
				t.err = l.run(c, func() error { return t.then(ctx, c) })
			}
		}
		return nil
	})
	if len(turns) > 1 && isOnesFault(err) {
		for _, t := range turns {
			t.state.Store(waiting) // none of them was executed
		}
		for _, t := range turns {
			l.carry([]*turn{t})
		}
		return
	}
	for _, t := range turns {
		if err != nil {
			t.err = err
		}
		close(t.ended)
	}
}

// run runs f, which for a write fails where the server warns meanwhile.
func (l *lane) run(c *pgx.Conn, f func() error) error {
	if l.writes {
		return warned(c, f)
	}
	return f()
}

// together executes the turns' statements in one transaction, which has
// committed when it returns nil.
func together(ctx context.Context, c *pgx.Conn, turns []*turn) error {
	var b pgx.Batch
	for _, t := range turns {
		b.Queue(t.sql, t.args...)
	}
	results := c.SendBatch(ctx, &b)
	for _, t := range turns {
		t.err = t.take(results)
	}
	return results.Close()
}

// isOnesFault reports whether what has undone a batch may be the fault of one
// statement, without which the others would have been executed.
func isOnesFault(err error) bool {
	if err == nil {
		return false
	}
	c := classOf(err)
	return c == clientsFault || c == broken
}

// with runs f with a connection, and with a context that ends when its server
// is given up.
func (l *lane) with(f func(context.Context, *pgx.Conn) error) error {
	p := l.store.current.Load()
	var on atomic.Pointer[string]
	defer l.store.watch(p, &on)()
	c, err := l.acquire(p)
	if err != nil {
		return acquireError{err}
	}
	defer c.Release()
	if server, ok := c.Conn().PgConn().CustomData()[connectedTo].(*string); ok {
		on.Store(server)
	}
	ctx := p.ctx
	if !l.writes {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, retryFor)
		defer cancel()
	}
	err = f(ctx, c.Conn())
	if isDemoted(err) {
		// Released open, it would be used again.
		closing, cancel := context.WithTimeout(p.ctx, connectTimeout)
		defer cancel()
		_ = c.Conn().Close(closing)
	}
	return err
}

func (l *lane) acquire(p *pools) (*pgxpool.Conn, error) {
	if !l.outage.admit() {
		return nil, errOutage
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(p.ctx, outageWait)
	defer cancel()
	c, err := l.pick(p).Acquire(ctx)
	switch {
	case err == nil:
		l.outage.end()
	case p.ctx.Err() == nil: // the pool has not gone
		l.outage.fail(start)
	}
	return c, err
}
