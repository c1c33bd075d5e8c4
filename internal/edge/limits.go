package edge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

const (
	// DefaultMaxInFlight is the default of Options.MaxInFlight.
	DefaultMaxInFlight = 256
	// Responses of more than largeResponse bytes have maxLarge bytes at most together.
	largeResponse = 32 << 10
	maxLarge      = 48 << 20
)

var (
	errOverloaded = errors.New("too many requests are in progress")
	errNoRoom     = fmt.Errorf("%w: their large responses are read slowly", errOverloaded)
)

// calls limits the operations in progress, and the memory that their responses take.
type calls struct {
	running *semaphore.Weighted
	count   atomic.Int64 // of operations that run or wait
	most    int64        // of count
	large   *semaphore.Weighted
}

func newCalls(maxInFlight int) *calls {
	n := int64(maxInFlight)
	return &calls{
		running: semaphore.NewWeighted(n), most: 2 * n, // as many may wait as may run
		large: semaphore.NewWeighted(maxLarge),
	}
}

// acquire waits until an operation may run. The caller must call release once the
// response is written.
func (c *calls) acquire(ctx context.Context) error {
	if c.count.Add(1) > c.most || !c.running.TryAcquire(1) && c.running.Acquire(ctx, 1) != nil {
		c.count.Add(-1)
		return errOverloaded
	}
	return nil
}

func (c *calls) release(o *call) {
	c.large.Release(o.reserved)
	c.running.Release(1)
	c.count.Add(-1)
}

// call is an operation in progress.
type call struct {
	Caller
	server   *Server
	reserved int64 // bytes of calls.large
}

type callKey struct{}

// Reserve reserves memory for the response of the operation whose context is ctx, until
// it is written. It fails if the clients of other large responses read slowly.
func Reserve(ctx context.Context, bytes int64) error {
	o, ok := ctx.Value(callKey{}).(*call)
	if !ok || bytes <= largeResponse {
		return nil
	}
	bytes = min(bytes, maxLarge-o.reserved)
	if !o.server.calls.large.TryAcquire(bytes) {
		o.server.metrics.shed.WithLabelValues("large").Inc()
		return Unavailable(errNoRoom)
	}
	o.reserved += bytes
	return nil
}
