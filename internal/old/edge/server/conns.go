package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// listener hands out connections that are watched.
type listener struct {
	*net.TCPListener
	conns   *connections
	retired atomic.Bool
	latest  time.Time // when the port is closed at the latest; set before retired
}

// Accept implements net.Listener. At the limit of connections it waits until
// there is room.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return l.conns.add(&conn{Conn: c}), nil
}

// connections are the open connections of clients, at most limit of them. At the
// limit a new one takes the place of another, so that clients without a key cannot
// keep others out. A connection on which a valid key has come and a request is being
// worked on is never closed for that.
type connections struct {
	limit int

	mu      sync.Mutex
	changed *sync.Cond // there may be room
	retired bool       // the last ones are admitted whatever the limit
	open    map[*conn]struct{}
	queues  [3]list.List // of *conn by order of eviction, longest first; see queue
	evicted int64
}

func newConnections(limit int) *connections {
	c := &connections{limit: limit, open: map[*conn]struct{}{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// queue returns which of the queues a connection waits in to be evicted, and
// whether it does. A connection that has not sent its first request is idle.
func (c *connections) queue(conn *conn) (*list.List, bool) {
	switch {
	case conn.idle && !conn.trusted.Load():
		return &c.queues[0], true
	case conn.idle:
		return &c.queues[1], true
	case !conn.trusted.Load():
		return &c.queues[2], true
	}
	return nil, false
}

// enqueue puts a connection into its queue, after its state has changed.
func (c *connections) enqueue(conn *conn) {
	c.dequeue(conn)
	if q, ok := c.queue(conn); ok {
		conn.queued, conn.place = q, q.PushBack(conn)
		c.changed.Signal()
	}
}

func (c *connections) dequeue(conn *conn) {
	if conn.queued != nil {
		conn.queued.Remove(conn.place)
		conn.queued = nil
	}
}

// add admits a new connection.
func (c *connections) add(conn *conn) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.limit && !c.retired && !c.evict() {
		c.changed.Wait()
	}
	conn.in, conn.idle = c, true
	c.open[conn] = struct{}{}
	c.enqueue(conn)
	return conn
}

// evict closes a connection to make room, if there is one that may be closed.
func (c *connections) evict() bool {
	for i := range c.queues {
		if first := c.queues[i].Front(); first != nil {
			conn := first.Value.(*conn)
			c.remove(conn)
			c.evicted++
			_ = conn.Close() // net/http notices, and reports StateClosed
			return true
		}
	}
	return false
}

func (c *connections) remove(conn *conn) {
	c.dequeue(conn)
	delete(c.open, conn)
	conn.gone = true
	c.changed.Signal()
}

// observe is called by net/http when a connection changes its state.
func (c *connections) observe(nc net.Conn, state http.ConnState) {
	conn := connOf(nc)
	if t, ok := nc.(*tls.Conn); ok && state == http.StateActive && conn.http2.Load() == nil &&
		t.ConnectionState().NegotiatedProtocol == "h2" { // known since the handshake
		conn.http2.Store(newHTTP2Pace())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.gone {
		return // evicted
	}
	switch state {
	case http.StateActive:
		conn.idle = false
		c.enqueue(conn)
	case http.StateIdle:
		conn.idle, conn.readBefore = true, conn.read.Load()
		c.enqueue(conn)
	case http.StateClosed, http.StateHijacked:
		c.remove(conn)
	}
}

// Trust notes that a valid key came by the connection of the request that ctx
// belongs to. At the limit other connections are closed before it.
func Trust(ctx context.Context) {
	conn, ok := ctx.Value(connKey{}).(*conn)
	if !ok || conn.trusted.Swap(true) {
		return
	}
	conn.in.mu.Lock()
	defer conn.in.mu.Unlock()
	if !conn.idle {
		conn.in.dequeue(conn)
	}
}

// ConnectionStats are figures of a server's connections.
type ConnectionStats struct {
	Active, Idle, Limit int
	Evicted             int64 // idle ones closed to make room, since the start
}

func (c *connections) stats() ConnectionStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := c.queues[0].Len() + c.queues[1].Len()
	return ConnectionStats{Active: len(c.open) - idle, Idle: idle, Limit: c.limit, Evicted: c.evicted}
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	in      *connections
	read    atomic.Int64              // bytes read
	trusted atomic.Bool               // a valid key came by it
	http2   atomic.Pointer[http2Pace] // nil for HTTP/1

	// Of in.mu:
	idle, gone bool
	queued     *list.List // nil while it is in no queue
	place      *list.Element
	readBefore int64     // read, when it last became idle
	quietSince time.Time // since when it is known to be quiet; zero while it is not
}

// connOf returns what Accept returned, which TLS may have wrapped.
func connOf(nc net.Conn) *conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	return nc.(*conn)
}

type connKey struct{}

// withConn has requests know their connection.
func withConn(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(nc))
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (n int, err error) {
	pace := c.http2.Load()
	if pace != nil && c.isPaced(pace) {
		return c.readPaced(p, pace)
	}
	n, err = c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// CloseWrite ends the sending side. net/http calls it before it closes a connection
// with unread bytes: closing at once would reset the connection, and the client might
// lose the response.
func (c *conn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// busy reports whether a request is being read or worked on.
func (c *conn) busy() bool { return !c.idle || c.read.Load() != c.readBefore }
