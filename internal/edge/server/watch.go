package server

import "time"

// While a request is worked on, net/http watches for a client that leaves: a
// goroutine for each request reads one byte of what may follow, and the request's
// context ends where that finds the end of the connection. Nearly every request is
// over before that tells anything. The goroutine, its system calls and the wait for
// it cost 7 % of the processor time of a create on SQLite, whose handler waits for
// its commit, and 2 % of a get's.
//
// So the read of one byte returns nothing at once, which ends net/http's watch, and
// one goroutine looks at all connections now and then. An io.Reader may do so, and
// its caller asks again if it must have the byte: the second such read in a row is a
// read like any other, whoever asks. net/http watches by itself below TLS, whose
// reads are longer, where socketOf has no socket, and for a request that came
// together with the one before.

// watchPoll is how often the connections are looked at, and so how long the service
// works at most for a client that has left.
const watchPoll = 50 * time.Millisecond

// watch ends the requests of clients that leave, until stop is closed.
func (c *connections) watch(stop <-chan struct{}) {
	ticker := time.NewTicker(watchPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.endLeft()
		case <-stop:
			return
		}
	}
}

func (c *connections) endLeft() {
	var watched []*conn
	c.mu.Lock()
	for conn := range c.open {
		if conn.watched.Load() {
			watched = append(watched, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range watched {
		if hasLeft(conn.socket) {
			conn.endRequests()
		}
	}
}

// leavesToWatch reports whether a read for p is net/http's watch, and leaves it to
// the server's own. The flag ends with the next read, so that no more of what came
// is held back than pending, and that is empty meanwhile.
func (c *conn) leavesToWatch(p []byte) bool {
	if len(p) == 1 && c.socket != nil && !c.watched.Load() {
		c.watched.Store(true)
		return true
	}
	c.watched.Store(false)
	return false
}
