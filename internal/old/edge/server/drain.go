package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// quietTime is how long a connection must have brought nothing before it is closed
// at the end. A client that has just read a response may be about to send its next
// request.
const quietTime = 500 * time.Millisecond

// quietPoll is how often that is looked at.
const quietPoll = 10 * time.Millisecond

// backlogTime is how long connections that wait at the port are still accepted
// when it is given up: to close it under them would reset them. While some still
// wait then, it is prolonged, up to longestBacklog in all.
const (
	backlogTime    = 50 * time.Millisecond
	longestBacklog = time.Second
)

var closing = []string{"close"} // shared so that setting it costs nothing

// endsConnections adds Connection: close, for which HTTP/2 sends a GOAWAY, to a response
// that must be the last of its connection:
//
//   - every response of a draining server,
//   - the response to a request whose length a proxy may see otherwise,
//   - a response on a connection whose streams are reset too often.
func (s *Server) endsConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() || ambiguous(r) {
			w.Header()["Connection"] = closing
		}
		if r.ProtoMajor == 2 {
			serveHTTP2(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ambiguous reports whether a proxy may take the request for another. A request may
// have both Content-Length and Transfer-Encoding, or the latter with HTTP/1.0. Its
// connection must be closed after the response (RFC 9112, section 6.1). net/http
// removes these fields before a handler sees the request, so every request counts
// that is chunked or of HTTP/1.0. HTTP/2 has its own frames, and neither.
func ambiguous(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}

// end drains the server and ends it. accepting is closed once no new connection
// comes: until then finish might find none left, and Shutdown, called too early,
// reset the connections that wait at the port.
func (s *Server) end(ctx context.Context, server *http.Server, accepting <-chan struct{}) error {
	drain := s.cfg.Drain(context.Cause(ctx))
	s.draining.Store(true)
	s.conns.closeQuiet(time.Now()) // from now on they are watched
	if drain > 0 {
		s.cfg.Logger.Info("stopping: no longer ready, requests are still served", "drain", drain.String())
	} else {
		s.cfg.Logger.Info("stopping: the requests under way are finished")
	}
	time.Sleep(drain)
	s.listener.retire()
	<-accepting
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := s.conns.finish(ctx)
	if err == nil {
		err = server.Shutdown(ctx) // GOAWAY for what HTTP/2 has left
	}
	if err != nil {
		return fmt.Errorf("some requests were still under way after %v: %w", shutdownTimeout, errors.Join(err, server.Close()))
	}
	s.cfg.Logger.Info("stopped")
	return nil
}

// retire has Accept take what waits at the port, and then give it up.
func (l *listener) retire() {
	l.latest = time.Now().Add(longestBacklog)
	l.retired.Store(true)
	l.conns.retire()
	_ = l.SetDeadline(time.Now().Add(backlogTime)) // it is closed already where this fails
}

// accept is Accept of the port itself. Once it is retired and nothing waits there,
// accept closes it: by the time net/http does, further connections may have come.
func (l *listener) accept() (net.Conn, error) {
	for {
		c, err := l.TCPListener.Accept()
		if err == nil || !l.retired.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
		now := time.Now()
		if now.After(l.latest) || !hasBacklog(l.TCPListener) {
			_ = l.TCPListener.Close()
			return nil, net.ErrClosed
		}
		_ = l.SetDeadline(now.Add(backlogTime)) // Accept tells where this fails
	}
}

// retire has connections that wait for room be admitted.
func (c *connections) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	c.changed.Broadcast()
}

// finish closes connections as they go quiet and returns once none is left but
// those of HTTP/2, which http.Server.Shutdown ends with a GOAWAY. Shutdown does
// not do for the others: it drops a request that it finds half read.
func (c *connections) finish(ctx context.Context) error {
	for c.closeQuiet(time.Now()) > 0 {
		select {
		case <-time.After(quietPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// closeQuiet closes the connections that have been waiting for a request for
// quietTime, and returns how many of HTTP/1 are left.
func (c *connections) closeQuiet(now time.Time) (left int) {
	var quiet []net.Conn
	c.mu.Lock()
	for conn := range c.open {
		switch {
		case conn.http2.Load() != nil:
			continue
		case conn.busy():
			conn.quietSince = time.Time{}
		case conn.quietSince.IsZero():
			conn.quietSince = now
		case now.Sub(conn.quietSince) >= quietTime:
			quiet = append(quiet, conn)
		}
		left++
	}
	c.mu.Unlock()
	for _, conn := range quiet {
		_ = conn.Close() // net/http notices, and reports StateClosed
	}
	return left
}
