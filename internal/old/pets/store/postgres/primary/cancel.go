package primary

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// cancelAfter is the age of a statement from which pgx may ask the server to
// cancel it when it drops the connection. It is longer than a server that hangs
// is tolerated, since PgBouncer (1.18) keeps a cancel request for such a server
// for ever, with a place in its pool. It is shorter than retryFor: a read that
// ends then is cancelled, or sessions that wait for a lock would pile up.
//
// All of this file waits for jackc/pgx issue 679: pgx lets nobody choose whether a
// connection that it drops sends a cancel request.
const cancelAfter = outageWait

// trackedConn knows when it sent data last.
type trackedConn struct {
	net.Conn
	sent atomic.Int64 // in Unix nanoseconds
}

// trackDial returns dial with tracked connections and without the cancel
// requests of young statements.
func trackDial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if network == noCancel {
			return nil, errors.New("a statement that was sent just now is not cancelled")
		}
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &trackedConn{Conn: c}, nil
	}
}

func (c *trackedConn) Write(b []byte) (int, error) {
	c.sent.Store(time.Now().UnixNano())
	return c.Conn.Write(b)
}

// RemoteAddr is also where pgx sends its cancel request.
func (c *trackedConn) RemoteAddr() net.Addr {
	a := c.Conn.RemoteAddr()
	if time.Since(time.Unix(0, c.sent.Load())) < cancelAfter {
		return noCancelAddr{a}
	}
	return a
}

// SyscallConn is for readable.
func (c *trackedConn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// noCancel is a network that trackDial does not dial.
const noCancel = "no cancel"

type noCancelAddr struct{ net.Addr }

func (noCancelAddr) Network() string { return noCancel }
