package edge

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// maxWeight is how much the large responses in progress may weigh together;
// see Service.Weight.
const maxWeight = 800

var errOverloaded = errors.New("too many requests are in progress")

// calls bounds the operations in progress. As many may wait. Large
// responses are bounded by their weight as well, before they take a place, so
// that slow readers of large pages do not keep other requests waiting.
type calls struct {
	places, weights *semaphore.Weighted
	most            int64 // in progress and waiting
	count           atomic.Int64
}

func newCalls(maxInFlight int) *calls {
	n := int64(maxInFlight)
	return &calls{places: semaphore.NewWeighted(n), weights: semaphore.NewWeighted(maxWeight), most: 2 * n}
}

// acquire waits for the turn of a request. The caller must call release after
// the response was written.
func (c *calls) acquire(ctx context.Context, weight int64) (release func(), err error) {
	if c.count.Add(1) > c.most {
		c.count.Add(-1)
		return nil, errOverloaded
	}
	weight = min(weight, maxWeight)
	if weight > 0 && c.weights.Acquire(ctx, weight) != nil {
		c.count.Add(-1)
		return nil, errOverloaded
	}
	if c.places.Acquire(ctx, 1) != nil {
		c.releaseWeight(weight)
		return nil, errOverloaded
	}
	return func() { c.places.Release(1); c.releaseWeight(weight) }, nil
}

func (c *calls) releaseWeight(weight int64) {
	c.count.Add(-1)
	if weight > 0 {
		c.weights.Release(weight)
	}
}
