package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// cancelAfter is how long a statement must have run for pgx to ask the server to
// cancel it when it drops its connection. It is longer than a server that hangs
// is suffered (patience and two connectTimeouts), and shorter than retryFor: a
// read that is ended then is cancelled, or sessions that wait for a lock would
// pile up. What is dropped sooner was sent to a server that
// answers nobody, and so would the request be. PgBouncer (1.18) keeps one that
// is not answered for ever, with a place in its pool, until no place is left and
// it leads to no other server either.
const cancelAfter = outageWait

// dialed is a connection that knows when something was sent on it last.
type dialed struct {
	net.Conn
	sent atomic.Int64 // in nanoseconds since the epoch
}

// dialKnowing has the connections that dial makes be such.
func dialKnowing(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if network == nowhere {
			return nil, errors.New("a statement that was sent just now is not cancelled")
		}
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &dialed{Conn: c}, nil
	}
}

func (d *dialed) Write(b []byte) (int, error) {
	d.sent.Store(time.Now().UnixNano())
	return d.Conn.Write(b)
}

// RemoteAddr is also where pgx sends the request to cancel.
func (d *dialed) RemoteAddr() net.Addr {
	a := d.Conn.RemoteAddr()
	if time.Since(time.Unix(0, d.sent.Load())) < cancelAfter {
		return unreachable{a}
	}
	return a
}

// SyscallConn is for hasNews.
func (d *dialed) SyscallConn() (syscall.RawConn, error) {
	if s, ok := d.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// nowhere is a network that nobody dials.
const nowhere = "nowhere"

type unreachable struct{ net.Addr }

func (unreachable) Network() string { return nowhere }
