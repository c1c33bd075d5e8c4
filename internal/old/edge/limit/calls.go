// Package limit bounds what one process takes on at once: calls under way, requests
// of a key in a second, bytes of responses. It knows nothing of HTTP.
// Each type is safe for concurrent use, and a nil one bounds nothing.
package limit

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrFull is why a call was refused: there is no place, and the queue is full.
var ErrFull = errors.New("too many calls are under way and waiting")

// Calls bounds how many calls are under way at once. Others wait in a short queue,
// in the order they came; beyond it they are refused at once.
type Calls struct {
	places  chan struct{}
	queue   int64
	waiting atomic.Int64
	refused atomic.Int64
}

// NewCalls returns a bound of most calls under way and queue calls waiting. most
// is 1 or more.
func NewCalls(most, queue int) *Calls {
	return &Calls{places: make(chan struct{}, most), queue: int64(queue)}
}

// CheckRoom returns ErrFull where Begin would now, so that work before the call can
// be spared.
func (c *Calls) CheckRoom() error {
	if c == nil || c.waiting.Load() < c.queue || len(c.places) < cap(c.places) {
		return nil
	}
	c.refused.Add(1)
	return ErrFull
}

// Begin takes a place, or waits for one until ctx ends. Without an error, End must
// follow.
func (c *Calls) Begin(ctx context.Context) error {
	if c == nil {
		return nil
	}
	select {
	case c.places <- struct{}{}:
		return nil
	default:
	}
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > c.queue {
		c.refused.Add(1)
		return ErrFull
	}
	select {
	case c.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End gives the place back.
func (c *Calls) End() {
	if c != nil {
		<-c.places
	}
}

// CallStats are figures of a Calls.
type CallStats struct {
	UnderWay, Waiting, Most int
	Refused                 int64 // since the start
}

// Stats returns the figures of now.
func (c *Calls) Stats() CallStats {
	if c == nil {
		return CallStats{}
	}
	return CallStats{UnderWay: len(c.places), Waiting: int(c.waiting.Load()), Most: cap(c.places), Refused: c.refused.Load()}
}
