package edge

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"example.com/petstore/internal/fault"
	"golang.org/x/sync/semaphore"
)

var errOverloaded = errors.New("too many requests are in flight, or with this API key")

// inFlight limits the requests to operations. A request passes the limits of its API key,
// or of its address if there is no key, and then those of all, so that one key leaves room
// for others.
type inFlight struct {
	// Of all requests:
	admitted *semaphore.Weighted // those that run, or wait for a place to run
	running  *semaphore.Weighted
	decoding *semaphore.Weighted // those whose body is decoded: 64 KiB of JSON may become megabytes

	// Of the requests of one key:
	maxOfKey        int64 // how many may be in flight, which bounds the memory of their bodies
	maxRunningOfKey int64 // how many of these may be admitted; the others wait in the key's own queue

	mu     sync.Mutex
	shares map[string]*share // by API key or address
}

// share has the requests of one key that are in flight.
type share struct {
	requests int64 // guarded by inFlight.mu
	running  *semaphore.Weighted
}

// newInFlight returns limits of which the others follow: limit requests run at a time.
func newInFlight(limit int64) *inFlight {
	return &inFlight{
		admitted:        semaphore.NewWeighted(2 * limit),
		running:         semaphore.NewWeighted(limit),
		decoding:        semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
		maxOfKey:        (3*limit + 1) / 2,
		maxRunningOfKey: (3*limit + 3) / 4,
		shares:          map[string]*share{},
	}
}

// enter adds a request to the share of a key until leave is called. It returns nil if
// the share has no room.
func (f *inFlight) enter(key string) *share {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shares[key]
	if s == nil {
		s = &share{running: semaphore.NewWeighted(f.maxRunningOfKey)}
		f.shares[key] = s
	}
	if s.requests == f.maxOfKey {
		return nil
	}
	s.requests++
	return s
}

func (f *inFlight) leave(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shares[key]
	if s.requests--; s.requests == 0 {
		delete(f.shares, key)
	}
}

// acquire waits until a request may run: first among those of its key, then among all. It
// returns false if too many wait, or when ctx ends. Otherwise the caller must call release
// once the response is written.
func (f *inFlight) acquire(ctx context.Context, s *share) bool {
	if s.running.Acquire(ctx, 1) != nil {
		return false
	}
	if !f.admitted.TryAcquire(1) {
		s.running.Release(1)
		return false
	}
	if f.running.Acquire(ctx, 1) != nil {
		f.admitted.Release(1)
		s.running.Release(1)
		return false
	}
	return true
}

func (f *inFlight) release(s *share) {
	f.running.Release(1)
	f.admitted.Release(1)
	s.running.Release(1)
}

// overloaded counts a request that is refused, and returns its error.
func (h *Handler) overloaded() error {
	h.metrics.shed.WithLabelValues("in_flight").Inc()
	return fault.Wrap(fault.Unavailable, errOverloaded)
}
