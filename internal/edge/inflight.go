package edge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// DefaultMaxInFlight is the default of Options.MaxInFlight.
const DefaultMaxInFlight = 256

var errOverloaded = errors.New("too many requests are in flight, or with this API key")

// inFlight limits the requests to operations: limit of them run at a time, and as many
// wait. Those of one API key, or of one address if there is no key, are a share: it runs
// at most three quarters of limit, and has at most one and a half times limit.
type inFlight struct {
	limit   int
	running chan struct{} // holds a value for each request that runs
	count   atomic.Int64  // of requests that run, or wait for those of other shares

	mu     sync.Mutex
	shares map[string]*share // by API key or address
}

type share struct {
	requests int           // guarded by inFlight.mu
	running  chan struct{} // holds a value for each request in inFlight.count
}

func newInFlight(limit int) *inFlight {
	return &inFlight{limit: limit, running: make(chan struct{}, limit), shares: map[string]*share{}}
}

// enter adds a request to the share of id, if that has room, until leave is called.
func (f *inFlight) enter(id string) (s *share, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s = f.shares[id]
	if s == nil {
		s = &share{running: make(chan struct{}, (3*f.limit+3)/4)}
		f.shares[id] = s
	}
	if s.requests == (3*f.limit+1)/2 {
		return nil, false
	}
	s.requests++
	return s, true
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
	select {
	case s.running <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if f.count.Add(1) <= 2*int64(f.limit) {
		select {
		case f.running <- struct{}{}:
			return true
		case <-ctx.Done():
		}
	}
	f.count.Add(-1)
	<-s.running
	return false
}

func (f *inFlight) release(s *share) {
	<-f.running
	f.count.Add(-1)
	<-s.running
}

// overloaded counts a request that was refused, and returns the response.
func (h *Handler) overloaded() *Problem {
	h.metrics.shed.WithLabelValues("in_flight").Inc()
	return Unavailable(errOverloaded)
}
