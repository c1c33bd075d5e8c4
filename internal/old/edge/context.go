package edge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// requestTimeout bounds the work on one request once it has arrived. It stays
// above what a database commonly waits for by itself (5 s) and below
// the server's WriteTimeout, so that the client hears 503 and why.
const requestTimeout = 8 * time.Second

// exchangeContext is the context of one call of an operation: the
// connection's, with a deadline and the caller. It starts a timer
// only when somebody waits on Done, which most requests never do:
// context.WithTimeout and WithValue would be 7 of the 24 allocations of a get.
type exchangeContext struct {
	context.Context // ends when the client goes away
	caller          Identity
	deadline        time.Time

	start sync.Once
	timed atomic.Pointer[timedContext]
}

type timedContext struct {
	context.Context
	cancel context.CancelFunc
}

func (c *exchangeContext) begin(parent context.Context, caller Identity, now time.Time) {
	c.Context, c.caller, c.deadline = parent, caller, now.Add(requestTimeout)
}

// Deadline implements context.Context, as do Done, Err and Value.
func (c *exchangeContext) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *exchangeContext) Done() <-chan struct{} {
	c.start.Do(func() {
		ctx, cancel := context.WithDeadline(c.Context, c.deadline)
		c.timed.Store(&timedContext{ctx, cancel})
	})
	return c.timed.Load().Done()
}

func (c *exchangeContext) Err() error {
	if t := c.timed.Load(); t != nil {
		return t.Err()
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(c.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

func (c *exchangeContext) Value(key any) any {
	if key == (callerKey{}) {
		return &c.caller
	}
	// Through the timed context, where there is one, so that package context
	// finds it as the parent of contexts made from c.
	if t := c.timed.Load(); t != nil {
		return t.Value(key)
	}
	return c.Context.Value(key)
}

// release frees the timer, if there is one. Contexts made from c end with it.
func (c *exchangeContext) release() {
	if t := c.timed.Load(); t != nil {
		t.cancel()
	}
}
