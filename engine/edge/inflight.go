package edge

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"example.com/petstore/engine/fault"
	"golang.org/x/sync/semaphore"
)

var errOverloaded = fault.Wrap(fault.Unavailable, errors.New("too many requests are in flight, or with this API key"))

// inFlight limits the requests to operations. A request must first pass the limits of its API key, or
// of its address if it has no key, and then those of all requests, so one key cannot take all slots.
type inFlight struct {
	limit    int64               // of requests that run
	admitted *semaphore.Weighted // those that run, or wait for a slot to run
	running  *semaphore.Weighted
	decoding *semaphore.Weighted // those that decode a body: 64 KiB of JSON may become megabytes

	mu     sync.Mutex
	shares map[string]*share // by API key or address
}

// share limits the requests of one key.
type share struct {
	requests int64               // in flight, with their bodies in memory; guarded by inFlight.mu
	running  *semaphore.Weighted // those that have left the queue of the key
}

// newInFlight derives the limits from the number of requests that may run at a time.
func newInFlight(limit int64) *inFlight {
	return &inFlight{
		limit: limit, shares: map[string]*share{},
		admitted: semaphore.NewWeighted(2 * limit),
		running:  semaphore.NewWeighted(limit),
		decoding: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
	}
}

// enter adds a request to the share of a key until leave is called. It returns errOverloaded if
// the share has no room.
func (f *inFlight) enter(key string) (*share, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shares[key]
	if s == nil {
		s = &share{running: semaphore.NewWeighted((3*f.limit + 3) / 4)}
		f.shares[key] = s
	}
	if s.requests == (3*f.limit+1)/2 {
		return nil, errOverloaded
	}
	s.requests++
	return s, nil
}

func (f *inFlight) leave(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shares[key]
	if s.requests--; s.requests == 0 {
		delete(f.shares, key)
	}
}

// run calls handle when the request may run: first among those of its key, then among all.
// It returns errOverloaded if too many wait, or ctx ends before. TryAcquire needs no ctx.Done, which allocates.
func (f *inFlight) run(ctx context.Context, s *share, handle func() error) error {
	if !s.running.TryAcquire(1) && s.running.Acquire(ctx, 1) != nil {
		return errOverloaded
	}
	defer s.running.Release(1)
	if !f.admitted.TryAcquire(1) {
		return errOverloaded
	}
	defer f.admitted.Release(1)
	if !f.running.TryAcquire(1) && f.running.Acquire(ctx, 1) != nil {
		return errOverloaded
	}
	defer f.running.Release(1)
	return handle()
}
