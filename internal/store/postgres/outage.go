package postgres

import (
	"errors"
	"sync"
	"time"
)

// outageWait is how long a call that was not executed goes on trying, and how
// long no call may have had a connection until those that come are refused
// without waiting. It is as long as a hung primary may take to be left (patience
// and some connectTimeouts), and well below the edge's deadline of a request.
const outageWait = 3 * time.Second

// outage is what is known of the time without a connection.
type outage struct {
	mu     sync.Mutex
	had    time.Time // when a call had a connection last
	since  time.Time // when the first began that has waited in vain since; zero where none has
	latest time.Time // when one was last let try or failed
}

var errOutage = errors.New("for some time nobody has had a connection to the database")

// admit reports whether a call shall try to get a connection: in an outage one
// every connectTimeout, to find its end.
func (o *outage) admit() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.lasting() {
		return true
	}
	if time.Since(o.latest) < connectTimeout {
		return false
	}
	o.latest = time.Now()
	return true
}

// end notes that a call has a connection.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.had, o.since = time.Now(), time.Time{}
}

// fail notes that a call has tried in vain since start. Where others have had
// connections meanwhile this is no outage, but a crowd.
func (o *outage) fail(start time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if start.Before(o.had) {
		return
	}
	if o.since.IsZero() {
		o.since = start
	}
	o.latest = time.Now()
}

func (o *outage) lasts() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lasting()
}

func (o *outage) lasting() bool { return !o.since.IsZero() && time.Since(o.since) >= outageWait }

// hopeless reports whether a call that began then, and was not executed, shall
// try no more.
func (l *lane) hopeless(began time.Time) bool {
	return time.Since(began) >= outageWait || l.outage.lasts()
}
