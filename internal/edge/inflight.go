package edge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// DefaultMaxInFlight is the default of Options.MaxInFlight.
const DefaultMaxInFlight = 256

var (
	errOverloaded = errors.New("too many requests are in flight")
	errShare      = fmt.Errorf("%w with this API key", errOverloaded)
)

// inFlight limits the requests to operations that run at a time, and how many of them
// are of one API key, or of one address if there is no key.
type inFlight struct {
	running chan struct{} // holds a value for each request that runs
	count   atomic.Int64  // of requests that run, or wait to be put in running
	most    int64         // of count

	mu            sync.Mutex
	shares        map[string]*share // of those that have requests
	shareRunning  int               // how many requests of a share may run
	shareRequests int               // how many a share may have
}

// share holds the requests of one API key or address.
type share struct {
	id       string
	requests int           // guarded by inFlight.mu
	running  chan struct{} // holds a value for each request that runs, or waits for a place among all
}

// newInFlight lets n requests run, and as many wait. A share runs at most three
// quarters of n, and has at most one and a half times n.
func newInFlight(n int) *inFlight {
	return &inFlight{
		running: make(chan struct{}, n), most: 2 * int64(n),
		shares: map[string]*share{}, shareRunning: (3*n + 3) / 4, shareRequests: (3*n + 1) / 2,
	}
}

// enter counts a request as one of the share of id. The caller must call leave.
func (f *inFlight) enter(id string) (*share, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shares[id]
	if s == nil {
		s = &share{id: id, running: make(chan struct{}, f.shareRunning)}
		f.shares[id] = s
	}
	if s.requests == f.shareRequests {
		return nil, errShare
	}
	s.requests++
	return s, nil
}

func (f *inFlight) leave(s *share) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.requests--; s.requests == 0 {
		delete(f.shares, s.id)
	}
}

// acquire waits until a request may run: first among those of its share, then among
// all. The caller must call release once the response is written.
func (f *inFlight) acquire(ctx context.Context, s *share) error {
	select {
	case s.running <- struct{}{}:
	case <-ctx.Done():
		return errShare
	}
	if f.count.Add(1) <= f.most {
		select {
		case f.running <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	f.count.Add(-1)
	<-s.running
	return errOverloaded
}

func (f *inFlight) release(s *share) {
	<-f.running
	f.count.Add(-1)
	<-s.running
}

// overloaded counts a request that was refused, and returns the response.
func (h *Handler) overloaded(err error) *Problem {
	reason := "in_flight"
	if errors.Is(err, errShare) {
		reason = "share"
	}
	h.metrics.shed.WithLabelValues(reason).Inc()
	return Unavailable(err)
}
