package primary

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// server is a host that accepts writes. Its timeline is 0 where the server does
// not tell, as some hosted ones.
type server struct {
	addr     string
	timeline uint32
}

// serverKey is the key of a connection's data under which its server is stored.
const serverKey = "petstore.server"

func serverOf(c *pgconn.PgConn) server {
	s, _ := c.CustomData()[serverKey].(server)
	return s
}

// timeline is the highest timeline seen by this process. PostgreSQL begins a new
// timeline with every promotion, so a server on a lower timeline is an old primary.
// After a partition both accept writes, and all that the old primary accepts is lost.
type timeline struct{ highest atomic.Uint32 }

func (t *timeline) isStale(s server) bool { return s.timeline > 0 && s.timeline < t.highest.Load() }

// see raises the highest timeline to that of s.
func (t *timeline) see(s server) {
	for {
		highest := t.highest.Load()
		if s.timeline <= highest || t.highest.CompareAndSwap(highest, s.timeline) {
			return
		}
	}
}

// validate refuses a new connection unless it is to the primary on the highest
// timeline. It is a pgconn.ValidateConnectFunc: pgx tries the next host.
func (t *timeline) validate(ctx context.Context, c *pgconn.PgConn) error {
	s, err := identify(ctx, c)
	if err != nil {
		return err
	}
	t.see(s)
	if t.isStale(s) {
		return fmt.Errorf("the server %s accepts writes on timeline %d, but its successor is on timeline %d; stop the old server", s.addr, s.timeline, t.highest.Load())
	}
	return nil
}

// prepareConn has the pool close connections to an old primary.
func (t *timeline) prepareConn(_ context.Context, c *pgx.Conn) (bool, error) {
	return !t.isStale(serverOf(c.PgConn())), nil
}

// askTimeline reads the timeline from the name of the current log file.
// pg_control_checkpoint() has the old one until the first checkpoint after a
// promotion.
const askTimeline = `SHOW transaction_read_only;
SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_lsn()) END`

// identify returns the server of a connection, and an error where it accepts no
// writes.
func identify(ctx context.Context, c *pgconn.PgConn) (server, error) {
	s := server{addr: c.Conn().RemoteAddr().String()}
	results, err := c.Exec(ctx, askTimeline).ReadAll()
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return s, err
	}
	if string(results[0].Rows[0][0]) == "on" {
		return s, pgconn.ErrReadOnlyConnection
	}
	if _, refused := errors.AsType[*pgconn.PgError](err); err != nil && !refused {
		return s, err
	}
	if len(results) > 1 && len(results[1].Rows) > 0 {
		file := string(results[1].Rows[0][0])
		n, _ := strconv.ParseUint(file[:min(8, len(file))], 16, 32)
		s.timeline = uint32(n)
	}
	c.CustomData()[serverKey] = s
	return s, nil
}
