package primary

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// askInterval is the least time between two questions: at most a thousand a
// second, so that their cost to the primary does not grow with the reads.
const askInterval = time.Millisecond

// position is how far the primary was at a moment after a read began.
type position struct {
	log      int64     // the log it had flushed, in bytes
	xmin     uint32    // every older transaction had ended: what it wrote is visible there, or never will be
	timeline uint32    // of the primary; never 0
	asked    time.Time // when the response came
}

// askPosition takes the snapshot first and then the position in the log. So the
// log up to there has the commit of each transaction that the snapshot sees,
// unless a commit does not wait for the log.
const askPosition = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, (pg_current_wal_flush_lsn() - '0/0')::bigint,
current_setting('synchronous_commit')`

var (
	errNoTimeline  = errors.New("the primary does not tell its timeline")
	errAsyncCommit = errors.New("commits on the primary do not wait for the log")
)

// asker asks the primary for its position, one question at a time. All reads that
// begin before a question is sent share it.
type asker struct {
	primary *executor

	mu    sync.Mutex
	next  *question // the question that is not sent yet; nil where nobody waits for it
	runs  bool
	asked time.Time // when the latest question was sent
}

type question struct {
	done chan struct{} // closed once the position or the error is there
	position
	err error
}

// ask returns a position that the primary had after the call of ask began.
func (a *asker) ask(ctx context.Context) (position, error) {
	a.mu.Lock()
	if a.next == nil {
		a.next = &question{done: make(chan struct{})}
	}
	q := a.next
	if !a.runs {
		a.runs = true
		go a.run()
	}
	a.mu.Unlock()
	select {
	case <-q.done:
		if q.err != nil {
			return position{}, q.err
		}
		return q.position, nil
	case <-ctx.Done():
		return position{}, ErrGaveUp
	}
}

// run asks until nobody waits.
func (a *asker) run() {
	for {
		time.Sleep(askInterval - time.Since(a.asked))
		a.mu.Lock()
		q := a.next
		a.next = nil
		a.runs = q != nil
		a.mu.Unlock()
		if q == nil {
			return
		}
		a.asked = time.Now()
		q.err = a.primary.withConn(q.send)
		q.asked = time.Now()
		close(q.done)
	}
}

func (q *question) send(ctx context.Context, c *pgx.Conn) error {
	var xmin int64
	var commit string
	if err := c.QueryRow(ctx, askPosition).Scan(&xmin, &q.log, &commit); err != nil {
		return err
	}
	q.xmin, q.timeline = uint32(xmin), serverOf(c.PgConn()).timeline
	switch {
	case q.timeline == 0:
		return errNoTimeline
	case commit == "off" || commit == "local":
		return errAsyncCommit
	}
	return nil
}
