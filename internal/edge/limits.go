package edge

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// maxWeight is what all requests in progress may weigh; see Service.Weight.
const maxWeight = 800

var errOverloaded = errors.New("too many requests are in progress")

// calls bounds the operations in progress. Large responses wait for their weight
// before they join the others, so that slow readers of large pages do not keep
// other requests waiting.
type calls struct{ all, large *queue }

func newCalls(maxInFlight int) *calls {
	n := int64(maxInFlight)
	return &calls{
		all:   &queue{Weighted: semaphore.NewWeighted(n), most: 2 * n}, // as many wait as are in progress
		large: &queue{Weighted: semaphore.NewWeighted(maxWeight), most: n},
	}
}

// acquire waits until the request may run. The caller must call release after
// the response was written.
func (c *calls) acquire(ctx context.Context, weight int64) (release func(), err error) {
	weight = min(weight, maxWeight)
	if weight > 0 {
		if err := c.large.enter(ctx, weight); err != nil {
			return nil, err
		}
	}
	leave := func() {
		if weight > 0 {
			c.large.leave(weight)
		}
	}
	if err := c.all.enter(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return func() { c.all.leave(1); leave() }, nil
}

// queue is a semaphore that bounds how many hold it or wait for it.
type queue struct {
	*semaphore.Weighted
	most  int64
	count atomic.Int64
}

func (q *queue) enter(ctx context.Context, n int64) error {
	if q.count.Add(1) > q.most || q.Acquire(ctx, n) != nil {
		q.count.Add(-1)
		return errOverloaded
	}
	return nil
}

func (q *queue) leave(n int64) {
	q.Release(n)
	q.count.Add(-1)
}
