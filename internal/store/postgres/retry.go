package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/petstore"
)

// retryFor bounds a call whose context has no deadline, and how long a read may
// take the server. Requests have the edge's deadline, 8 s.
const retryFor = 10 * time.Second

// The pauses between tries grow from the one to the other: after a promotion
// the first try comes soon, and a server that is away is not stormed.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// write executes a statement, which must do nothing the second time, and
// returns what it left in value.
func write[T any](ctx context.Context, s *Store, st statement, value *T) (T, error) {
	var none T
	if !s.beginWrite() {
		return none, errClosed
	}
	defer s.writing.Done()
	if err := s.writes.execute(ctx, st); err != nil {
		return none, err
	}
	return *value, nil
}

// read executes a statement that changes nothing, and returns what it left in
// value.
func read[T any](ctx context.Context, s *Store, st statement, value *T) (T, error) {
	if err := s.reads.execute(ctx, st); err != nil {
		var none T
		return none, err
	}
	return *value, nil
}

// execute has the statement carried, again and again where the outcome of a try
// is unknown or it was not executed, until ctx ends.
func (l *lane) execute(ctx context.Context, st statement) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, retryFor)
		defer cancel()
	}
	began, unsure := time.Now(), false
	for tries := 0; ; tries++ {
		err := l.try(ctx, st)
		if err == nil {
			return nil
		}
		last := false
		switch classOf(err) {
		case unknown:
			unsure = unsure || l.writes // a read has done nothing
		case notExecuted:
			last = !unsure && l.hopeless(began)
		default:
			last = true
		}
		if last || !pause(ctx, tries) {
			return l.explain(err, unsure)
		}
	}
}

// explain makes the domain's error of the last one.
func (l *lane) explain(err error, unsure bool) error {
	switch c := classOf(err); {
	case unsure && (c == unknown || c == notExecuted || petstore.KindOf(err) == petstore.Unavailable):
		return errUnknown(err)
	case c == unknown && !l.writes:
		return &petstore.Error{Kind: petstore.Unavailable, Message: "the database is unavailable", Err: err}
	}
	return translate(err)
}

func errUnknown(cause error) error {
	return &petstore.Error{Kind: petstore.Internal, Message: "the database has not said whether it stored the write", Err: cause}
}

// try has the statement carried once. A caller who leaves does not end what is
// under way.
func (l *lane) try(ctx context.Context, st statement) error {
	if l.store.isClosed() && !l.writes {
		return errClosed
	}
	t := &turn{statement: st, ended: make(chan struct{})}
	if err := l.enqueue(ctx, t); err != nil {
		return err
	}
	return l.await(ctx, t)
}

// await returns how the turn ended, or that its caller has left before.
func (l *lane) await(ctx context.Context, t *turn) error {
	select {
	case <-t.ended:
		return t.err
	case <-ctx.Done():
	}
	if t.state.CompareAndSwap(waiting, withdrawn) || !l.writes {
		return errGaveUp
	}
	select {
	case <-t.ended: // both were ready
		return t.err
	default:
		return ctx.Err() // and so unknown
	}
}

// enqueue returns once a carrier has taken the turn.
func (l *lane) enqueue(ctx context.Context, t *turn) error {
	select {
	case l.queue <- t:
		return nil
	default:
		if l.join(t) {
			return nil
		}
	}
	began, wait := time.Now(), slow
	again := time.NewTimer(wait)
	defer again.Stop()
	for {
		select {
		case l.queue <- t:
			return nil
		case <-again.C:
			if l.join(t) {
				return nil
			}
			if time.Since(began) >= outageWait {
				return acquireError{errors.New("all connections are taken")}
			}
			wait = min(2*wait, outageWait/8)
			again.Reset(wait)
		case <-ctx.Done():
			return errGaveUp
		case <-l.store.ended:
			return errClosed
		}
	}
}

// ping looks once, and once more where the connection had died unnoticed. It goes
// with nobody else's call, whose waiting for a lock or a standby is not its own.
func (l *lane) ping(ctx context.Context) error {
	var standby bool
	look := statement{
		sql:  "SELECT pg_is_in_recovery()",
		take: func(r pgx.BatchResults) error { return r.QueryRow().Scan(&standby) },
	}
	for tries := 0; ; tries++ {
		t := &turn{statement: look, ended: make(chan struct{})}
		go l.carry([]*turn{t})
		err := l.await(ctx, t)
		switch {
		case err == nil && !standby:
			return nil
		case err == nil:
			return &petstore.Error{Kind: petstore.Unavailable, Message: "the server is no primary"}
		case tries > 0 || ctx.Err() != nil || classOf(err) == notExecuted:
			return &petstore.Error{Kind: petstore.Unavailable, Message: "no writable primary can be reached", Err: err}
		}
	}
}

// pause waits before the next try, and reports false where ctx ends first.
func pause(ctx context.Context, tries int) bool {
	most := min(firstPause<<min(tries, 10), lastPause)
	t := time.NewTimer(most/2 + rand.N(most/2))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
