package primary

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sethvargo/go-retry"
)

// Backoff returns the pauses between attempts: the first is short because a
// promotion may have just ended, the later ones spare a server that is away.
func Backoff() retry.Backoff {
	const first, most = 5 * time.Millisecond, 75 * time.Millisecond
	return retry.WithJitterPercent(33, retry.WithCappedDuration(most, retry.NewExponential(first)))
}

// run has the statement executed, again and again where the outcome is unknown
// or it was not executed, until ctx ends.
func (e *executor) run(ctx context.Context, st Statement) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, retryFor)
		defer cancel()
	}
	began := time.Now()
	err := e.attempt(ctx, newCall(st))
	if err == nil {
		return nil
	}
	maybeExecuted := false
	again := func(err error) bool {
		switch OutcomeOf(err) {
		case MaybeExecuted:
			maybeExecuted = maybeExecuted || e.writes // a read changes nothing
			return true
		case NotExecuted:
			return maybeExecuted || !e.stopRetrying(began)
		default:
			return false
		}
	}
	for pauses := Backoff(); again(err) && sleep(ctx, pauses); {
		if err = e.attempt(ctx, newCall(st)); err == nil {
			return nil
		}
	}
	return finalError(err, maybeExecuted)
}

// sleep waits for the next pause, and reports whether ctx still runs.
func sleep(ctx context.Context, pauses retry.Backoff) bool {
	pause, _ := pauses.Next()
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// finalError returns the last error of a call with the outcome of all attempts.
func finalError(last error, maybeExecuted bool) error {
	o := OutcomeOf(last)
	switch {
	case maybeExecuted && o == NotExecuted:
		o = MaybeExecuted
	case !maybeExecuted && o == MaybeExecuted:
		o = NotExecuted
	}
	return &Error{Outcome: o, Err: last}
}

// stopRetrying reports whether a call that began then, and was not executed,
// fails now.
func (e *executor) stopRetrying(began time.Time) bool {
	return time.Since(began) >= outageWait || e.breaker.open()
}

// attempt has the call executed once. The execution goes on when ctx ends.
func (b *batcher) attempt(ctx context.Context, c *call) error {
	if err := b.enqueue(ctx, c); err != nil {
		return err
	}
	return b.await(ctx, c)
}

// enqueue returns once a worker has taken the call.
func (b *batcher) enqueue(ctx context.Context, c *call) error {
	select {
	case b.queue <- c:
		return nil
	default:
		if b.startExtra(c) {
			return nil
		}
	}
	began, pause := time.Now(), slowRound
	again := time.NewTimer(pause)
	defer again.Stop()
	for {
		select {
		case b.queue <- c:
			return nil
		case <-again.C:
			if b.startExtra(c) {
				return nil
			}
			if time.Since(began) >= outageWait {
				return errNoWorker
			}
			pause = min(2*pause, outageWait/8)
			again.Reset(pause)
		case <-ctx.Done():
			return ErrGaveUp
		}
	}
}

// await returns the error of the call, or one that says how far it came when ctx
// ended.
func (b *batcher) await(ctx context.Context, c *call) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.state.CompareAndSwap(waiting, withdrawn) || !b.writes {
		return ErrGaveUp
	}
	select {
	case <-c.done: // both were ready
		return c.err
	default:
		return &Error{Outcome: MaybeExecuted, Err: ctx.Err()}
	}
}

// ping runs the probes once, and a second time if the connection had died. They join no
// batch, whose other statements may wait for a lock or a standby.
func (b *batcher) ping(ctx context.Context, probes []Statement) error {
	var standby bool
	question := Statement{
		SQL:  "SELECT pg_is_in_recovery()",
		Scan: func(r pgx.BatchResults) error { return r.QueryRow().Scan(&standby) },
	}
	for attempts := 1; ; attempts++ {
		err := b.once(ctx, append([]Statement{question}, probes...))
		switch {
		case err == nil && standby:
			return &Error{Outcome: NotExecuted, Err: errors.New("the server is no primary")}
		case err == nil || OutcomeOf(err) == NeedsOperator:
			return err
		case attempts == 2 || ctx.Err() != nil || OutcomeOf(err) == NotExecuted:
			return &Error{Outcome: NotExecuted, Err: err}
		}
	}
}

// once executes the statements as one batch, and returns the first error.
func (b *batcher) once(ctx context.Context, statements []Statement) error {
	calls := make([]*call, len(statements))
	for i, st := range statements {
		calls[i] = newCall(st)
	}
	go b.execute(slices.Clone(calls)) // which takes calls out
	for _, c := range calls {
		if err := b.await(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
