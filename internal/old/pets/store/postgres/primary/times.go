package primary

import "time"

// The times, each with its neighbours. Requests have the deadline of the edge, 8 s.
const (
	// connectTimeout bounds connecting to one host, where the address does not
	// say otherwise, and the ping of an idle connection. It stays well below
	// hangProbeInterval, because pgx tries the hosts one after the other.
	connectTimeout = 500 * time.Millisecond

	// hangProbeInterval is the time after which a statement without a response
	// makes the watchdog probe the server. With two connectTimeouts, to find the
	// server dead and to find it dead again on the way to its successor, it stays
	// below outageWait.
	hangProbeInterval = time.Second

	// outageWait is how long a call that was not executed goes on trying, and how
	// long no call may have had a connection until the breaker opens.
	outageWait = 3 * time.Second

	// retryFor bounds a call whose context has no deadline, and the time the
	// server has for a read. It is longer than a request.
	retryFor = 10 * time.Second
)
