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
	errOverloaded = errors.New("too many requests are in flight")
	errNoRoom     = fmt.Errorf("%w: their large responses are read slowly", errOverloaded)
)

// inFlight limits the requests to operations, and the memory that their responses take.
type inFlight struct {
	running *semaphore.Weighted
	count   atomic.Int64 // of requests that run or wait
	most    int64        // of count
	large   *semaphore.Weighted
}

func newInFlight(maxInFlight int) *inFlight {
	n := int64(maxInFlight)
	// As many may wait as may run.
	return &inFlight{running: semaphore.NewWeighted(n), most: 2 * n, large: semaphore.NewWeighted(maxLarge)}
}

// acquire waits until a request may run. The caller must call release once the
// response is written.
func (c *inFlight) acquire(ctx context.Context) error {
	if c.count.Add(1) > c.most || !c.running.TryAcquire(1) && c.running.Acquire(ctx, 1) != nil {
		c.count.Add(-1)
		return errOverloaded
	}
	return nil
}

func (c *inFlight) release(o *request) {
	c.large.Release(o.reserved)
	c.running.Release(1)
	c.count.Add(-1)
}

// request is a request to an operation.
type request struct {
	Caller
	server   *Server
	reserved int64 // bytes of inFlight.large
}

type requestKey struct{}

// Reserve reserves memory for the response of the operation whose context is ctx, until
// it is written. It fails if the clients of other large responses read slowly.
func Reserve(ctx context.Context, bytes int64) error {
	o, ok := ctx.Value(requestKey{}).(*request)
	if !ok || bytes <= largeResponse {
		return nil
	}
	bytes = min(bytes, maxLarge-o.reserved)
	if !o.server.inFlight.large.TryAcquire(bytes) {
		o.server.metrics.shed.WithLabelValues("large").Inc()
		return Unavailable(errNoRoom)
	}
	o.reserved += bytes
	return nil
}
