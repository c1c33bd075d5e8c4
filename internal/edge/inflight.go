package edge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/fault"
	"golang.org/x/sync/semaphore"
)

// DefaultMaxInFlight is the default of Options.MaxInFlight.
const DefaultMaxInFlight = 256

var errOverloaded = errors.New("too many requests are in flight, or with this API key")

// inFlight limits the requests to operations: limit of them run at a time, and as many
// wait. Those of one API key, or of one address if there is no key, are a share: it runs
// at most three quarters of limit, and has at most one and a half times limit.
type inFlight struct {
	limit   int64
	running *semaphore.Weighted
	count   atomic.Int64 // of requests that run, or wait for those of other shares

	mu     sync.Mutex
	shares map[string]*share // by API key or address
}

type share struct {
	requests int64               // guarded by inFlight.mu
	running  *semaphore.Weighted // of those in inFlight.count
}

func newInFlight(limit int64) *inFlight {
	return &inFlight{limit: limit, running: semaphore.NewWeighted(limit), shares: map[string]*share{}}
}

// enter adds a request to the share of id until leave is called. It returns nil if the
// share has no room.
func (f *inFlight) enter(id string) *share {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shares[id]
	if s == nil {
		s = &share{running: semaphore.NewWeighted((3*f.limit + 3) / 4)}
		f.shares[id] = s
	}
	if s.requests == (3*f.limit+1)/2 {
		return nil
	}
	s.requests++
	return s
}

func (f *inFlight) leave(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shares[id]
	if s.requests--; s.requests == 0 {
		delete(f.shares, id)
	}
}

// acquire waits until a request may run: first among those of its share, then among
// all. The caller must call release once the response is written. If too many wait, or
// when ctx ends, acquire returns false.
func (f *inFlight) acquire(ctx context.Context, s *share) bool {
	if s.running.Acquire(ctx, 1) != nil {
		return false
	}
	if f.count.Add(1) <= 2*f.limit && f.running.Acquire(ctx, 1) == nil {
		return true
	}
	f.count.Add(-1)
	s.running.Release(1)
	return false
}

func (f *inFlight) release(s *share) {
	f.running.Release(1)
	f.count.Add(-1)
	s.running.Release(1)
}

// overloaded counts a request that was refused, and returns the response.
func (h *Handler) overloaded() error {
	h.metrics.shed.WithLabelValues("in_flight").Inc()
	return fault.Wrap(fault.Unavailable, errOverloaded)
}
