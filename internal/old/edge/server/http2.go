package server

import (
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// http2Bounds are the bounds of an HTTP/2 connection. A stream takes a whole body of
// the 64 KiB that the service accepts, and a connection holds at most four of them that
// no handler has read. The smallest frames of the standard bound what a connection
// keeps to read one. A connection that brings no frame for half of readTimeout is sent
// a PING, and closed where no response comes in the other half. So a header that arrives
// byte by byte has as much time as over HTTP/1.
var http2Bounds = http.HTTP2Config{
	MaxConcurrentStreams:          100,
	MaxReadFrameSize:              16 << 10,
	MaxReceiveBufferPerStream:     64 << 10,
	MaxReceiveBufferPerConnection: 256 << 10,
	WriteByteTimeout:              writeTimeout,
	SendPingTimeout:               readTimeout / 2,
	PingTimeout:                   readTimeout / 2,
}

// Over HTTP/1 a connection's next request is read once the request before has its
// response. Over HTTP/2 a client may reset a stream, or provoke the server to reset it,
// and begin the next at once. So 20 connections without a key delayed others by some
// 300 ms. Two bounds prevent that.
const (
	// maxResets is how many streams of a connection may end before their responses in
	// a second. A client may leave all its streams at once.
	maxResets = 100

	// keylessPace is how many bytes a second are read from a connection on which no
	// valid key has come, or too many resets: several hundred requests. keylessBurst
	// may come at once.
	keylessPace  = 16 << 10
	keylessBurst = 2 << 10
)

// pacePoll is how often a wait looks whether a key has come meanwhile.
const pacePoll = 5 * time.Millisecond

// http2Pace keeps the two bounds of one connection.
type http2Pace struct {
	resets  *rate.Limiter
	tooMany atomic.Bool // resets
	due     time.Time   // when the bytes read so far are paid for; of Read
}

func newHTTP2Pace() *http2Pace { return &http2Pace{resets: rate.NewLimiter(maxResets, maxResets)} }

// isPaced reports whether no more than keylessPace is read from the connection.
func (c *conn) isPaced(pace *http2Pace) bool { return !c.trusted.Load() || pace.tooMany.Load() }

// readPaced is Read of a connection that is paced.
func (c *conn) readPaced(p []byte, pace *http2Pace) (n int, err error) {
	for wait := time.Until(pace.due); wait > 0 && c.isPaced(pace); wait = time.Until(pace.due) {
		time.Sleep(min(wait, pacePoll))
	}
	n, err = c.Conn.Read(p[:min(len(p), keylessBurst)])
	c.read.Add(int64(n))
	const burst = time.Second * keylessBurst / keylessPace
	if earliest := time.Now().Add(-burst); pace.due.Before(earliest) {
		pace.due = earliest
	}
	pace.due = pace.due.Add(time.Second * time.Duration(n) / keylessPace)
	return n, err
}

// serveHTTP2 counts the streams that are reset while next works for them. Beyond
// maxResets the connection is paced, and its next response brings a GOAWAY.
func serveHTTP2(w http.ResponseWriter, r *http.Request, next http.Handler) {
	pace := r.Context().Value(connKey{}).(*conn).http2.Load()
	if pace.tooMany.Load() {
		w.Header()["Connection"] = closing
	}
	next.ServeHTTP(w, r)
	if r.Context().Err() != nil && !pace.resets.Allow() {
		pace.tooMany.Store(true)
	}
}
