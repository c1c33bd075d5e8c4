package primary

import (
	"sync"
	"time"
)

// breaker is a circuit breaker that measures the time without a connection. To
// count failures would not do: a server that refuses connections fails many calls
// within a moment, and one that hangs fails the first call after 3 s. The zero
// value is closed.
type breaker struct {
	mu           sync.Mutex
	succeeded    time.Time // when a call got a connection last
	failingSince time.Time // when the first call began that has failed since; zero if none has
	tried        time.Time // the latest failure, or the latest attempt while open
}

// allow reports whether a call may ask for a connection: while the breaker is
// open one call every connectTimeout, to find the end of the outage.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isOpen() {
		return true
	}
	if time.Since(b.tried) < connectTimeout {
		return false
	}
	b.tried = time.Now()
	return true
}

// success notes that a call has a connection.
func (b *breaker) success() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.succeeded, b.failingSince = time.Now(), time.Time{}
}

// failure notes that a call which began then got no connection. If another call
// got a connection meanwhile, the server is crowded and not away.
func (b *breaker) failure(began time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if began.Before(b.succeeded) {
		return
	}
	if b.failingSince.IsZero() {
		b.failingSince = began
	}
	b.tried = time.Now()
}

func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isOpen()
}

func (b *breaker) isOpen() bool {
	return !b.failingSince.IsZero() && time.Since(b.failingSince) >= outageWait
}
