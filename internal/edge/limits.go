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

// calls bounds the operations in progress. The same number may wait. Large
// responses wait for their weight before they take a place, so that slow readers
// of large pages do not keep other requests waiting.
type calls struct {
	places, weights *semaphore.Weighted
	most            int64 // in progress and waiting
	count           atomic.Int64
}

func newCalls(maxInFlight int) *calls {
	n := int64(maxInFlight)
	return &calls{places: semaphore.NewWeighted(n), weights: semaphore.NewWeighted(maxWeight), most: 2 * n}
}

// acquire waits until the request may run. The caller must call release after
// the response was written.
func (c *calls) acquire(ctx context.Context, weight int64) (release func(), err error) {
	if c.count.Add(1) > c.most {
		c.leave(0)
		return nil, errOverloaded
	}
	weight = min(weight, maxWeight)
	if weight > 0 && c.weights.Acquire(ctx, weight) != nil {
		c.leave(0)
		return nil, errOverloaded
	}
	if c.places.Acquire(ctx, 1) != nil {
		c.leave(weight)
		return nil, errOverloaded
	}
	return func() { c.places.Release(1); c.leave(weight) }, nil
}

func (c *calls) leave(weight int64) {
	c.count.Add(-1)
	if weight > 0 {
		c.weights.Release(weight)
	}
}
