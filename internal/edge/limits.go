package edge

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// maxWeight is how much the large responses in progress may weigh together;
// see Service.Weight.
const maxWeight = 800

// maxWait is how long a request waits for its turn before it is a 503.
const maxWait = 2 * time.Second

var errOverloaded = errors.New("too many requests are in progress")

// calls bounds the operations in progress. Large responses are bounded by
// their weight as well, so that slow readers of large pages do not keep other
// requests waiting.
type calls struct {
	slots, weights *semaphore.Weighted
	maxWaiting     int64
	waiting        atomic.Int64
}

func newCalls(maxInFlight int) *calls {
	return &calls{
		slots:      semaphore.NewWeighted(int64(maxInFlight)),
		weights:    semaphore.NewWeighted(maxWeight),
		maxWaiting: 2 * int64(maxInFlight),
	}
}

// acquire waits for the turn of a request. The caller must call release after
// the response was written.
func (c *calls) acquire(ctx context.Context, weight int64) (release func(), err error) {
	weight = min(weight, maxWeight)
	if c.tryAcquire(weight) {
		return func() { c.release(weight) }, nil
	}
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > c.maxWaiting {
		return nil, errOverloaded
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if weight > 0 && c.weights.Acquire(ctx, weight) != nil {
		return nil, errOverloaded
	}
	if c.slots.Acquire(ctx, 1) != nil {
		c.releaseWeight(weight)
		return nil, errOverloaded
	}
	return func() { c.release(weight) }, nil
}

func (c *calls) tryAcquire(weight int64) bool {
	if weight > 0 && !c.weights.TryAcquire(weight) {
		return false
	}
	if !c.slots.TryAcquire(1) {
		c.releaseWeight(weight)
		return false
	}
	return true
}

func (c *calls) release(weight int64) {
	c.slots.Release(1)
	c.releaseWeight(weight)
}

func (c *calls) releaseWeight(weight int64) {
	if weight > 0 {
		c.weights.Release(weight)
	}
}
