package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// listener hands out connections that are watched.
type listener struct {
	*net.TCPListener
	conns   *connections
	retired atomic.Bool
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err != nil {
		if l.retired.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
			err = net.ErrClosed // net/http would try again after what is temporary
		}
		return nil, err
	}
	return l.conns.add(c), nil
}

// connections are the open connections of clients. It is safe for concurrent
// use.
type connections struct {
	mu   sync.Mutex
	open map[*conn]struct{}
}

func newConnections() *connections {
	return &connections{open: map[*conn]struct{}{}}
}

func (c *connections) add(nc net.Conn) *conn {
	conn := &conn{Conn: nc}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[conn] = struct{}{}
	return conn
}

// observe is called by net/http when a connection changes its state. Beside
// HTTP/2's own, no two calls are for the same connection at a time.
func (c *connections) observe(nc net.Conn, state http.ConnState) {
	conn := connOf(nc)
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.state = state
	switch state {
	case http.StateIdle:
		conn.readBefore = conn.read.Load()
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	read  atomic.Int64 // bytes that net/http has taken, or TLS before it
	http2 atomic.Bool

	// Of connections.mu:
	state      http.ConnState
	readBefore int64     // read, when it last became idle
	quietSince time.Time // since when it is known to be not busy; zero while it is
}

// connOf returns what Accept returned, which TLS may have wrapped.
func connOf(nc net.Conn) *conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	return nc.(*conn)
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// busy reports whether a request is being read or worked on.
func (c *conn) busy() bool {
	return c.state == http.StateActive || c.read.Load() != c.readBefore
}
