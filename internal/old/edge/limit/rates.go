package limit

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// maxRatedKeys bounds the memory of Rates: some 200 bytes a key.
const maxRatedKeys = 10_000

// Rates bounds how many requests each key may make in a second. A key that was
// silent may make those of one second at once.
type Rates struct {
	perSecond rate.Limit
	burst     int
	refused   atomic.Int64

	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

// NewRates returns a bound of perSecond requests a second for each key, which is
// more than 0.
func NewRates(perSecond float64) *Rates {
	return &Rates{perSecond: rate.Limit(perSecond), burst: int(math.Ceil(perSecond)), keys: map[string]*rate.Limiter{}}
}

// Allow reports whether the key may make a request now, and else how long it must
// wait until it may.
func (r *Rates) Allow(key string, now time.Time) (wait time.Duration, ok bool) {
	if r == nil {
		return 0, true
	}
	// A Reservation would not do: to cancel it while a later one exists loses a part
	// of the rate for good.
	l := r.limiter(key, now)
	if l.AllowN(now, 1) {
		return 0, true
	}
	r.refused.Add(1)
	seconds := (1 - l.TokensAt(now)) / float64(r.perSecond)
	return time.Duration(min(seconds, math.MaxInt32) * float64(time.Second)), false
}

func (r *Rates) limiter(key string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.keys[key]
	if !ok {
		if len(r.keys) >= maxRatedKeys {
			r.forget(now)
		}
		l = rate.NewLimiter(r.perSecond, r.burst)
		r.keys[key] = l
	}
	return l
}

// forget makes room for a quarter of the keys, so that it is seldom called. It
// forgets silent keys, which are like new ones, and then any others.
func (r *Rates) forget(now time.Time) {
	for key, l := range r.keys {
		if l.TokensAt(now) >= float64(r.burst) {
			delete(r.keys, key)
		}
	}
	for key := range r.keys {
		if len(r.keys) <= maxRatedKeys/4*3 {
			return
		}
		delete(r.keys, key)
	}
}

// Refused returns how many requests were refused since the start.
func (r *Rates) Refused() int64 {
	if r == nil {
		return 0
	}
	return r.refused.Load()
}
