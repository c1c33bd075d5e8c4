package edge

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// maxWeight limits the total weight of the requests in progress; see
// Service.Weight. A pet of 64 KiB whose characters are escaped takes 390 KB in JSON.
const maxWeight = 200

// DefaultMaxInFlight is the default of Options.MaxInFlight.
const DefaultMaxInFlight = 256

var errOverloaded = errors.New("too many requests are in progress")

// calls limits the operations in progress. Operations with large responses first
// wait in a queue of their own, so that slow readers of large pages do not hold up
// other requests.
type calls struct{ all, large *queue }

func newCalls(maxInFlight int) *calls {
	n := int64(maxInFlight)
	return &calls{
		all:   &queue{Weighted: semaphore.NewWeighted(n), most: 2 * n}, // as many may wait as may run
		large: &queue{Weighted: semaphore.NewWeighted(maxWeight), most: 2 * n},
	}
}

// acquire waits until a request of a weight may run. The caller must call release
// with the same weight once the response is written.
func (c *calls) acquire(ctx context.Context, weight int64) error {
	if err := c.large.enter(ctx, min(weight, maxWeight)); err != nil {
		return err
	}
	err := c.all.enter(ctx, 1)
	if err != nil {
		c.large.leave(min(weight, maxWeight))
	}
	return err
}

func (c *calls) release(weight int64) {
	c.all.leave(1)
	c.large.leave(min(weight, maxWeight))
}

// queue is a semaphore with a limit on how many callers hold it or wait for it. A
// caller of weight 0 does neither.
type queue struct {
	*semaphore.Weighted
	most  int64
	count atomic.Int64
}

func (q *queue) enter(ctx context.Context, n int64) error {
	if n == 0 {
		return nil
	}
	if q.count.Add(1) > q.most || !q.TryAcquire(n) && q.Acquire(ctx, n) != nil {
		q.count.Add(-1)
		return errOverloaded
	}
	return nil
}

func (q *queue) leave(n int64) {
	if n > 0 {
		q.Release(n)
		q.count.Add(-1)
	}
}
