package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// lineage knows the newest primary that this process has seen, so that an old one which returns
// gets no writes: each promotion raises the timeline. initdb and pg_upgrade choose a new system identifier.
type lineage struct {
	logger *slog.Logger
	logged sync.Map // the texts of the lines

	mu     sync.Mutex
	newest map[string]uint64 // timelines by system identifier
}

const selectTimeline = "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()"

// admit completes the session of a new connection, and rejects a server that is not the newest
// primary. A server whose timeline the user may not see is admitted.
func (l *lineage) admit(ctx context.Context, c *pgconn.PgConn, s *session) error {
	result := c.ExecParams(ctx, selectTimeline, nil, nil, nil, nil).Read()
	if err := result.Err; effectOf(err) == rejected || answer(err).Code == "0A000" {
		l.logOnce(slog.LevelInfo, "the PostgreSQL server does not tell its timeline, so an old primary that returns is not noticed", c, err)
		return nil
	} else if err != nil {
		return err
	}
	s.system = string(result.Rows[0][0])
	s.timeline, _ = strconv.ParseUint(string(result.Rows[0][1]), 16, 32)
	err := l.add(*s)
	if err != nil {
		l.logOnce(slog.LevelError, "rejected a PostgreSQL server", c, err)
	}
	return err
}

// add records the timeline of s, unless s is behind or of another cluster. The nodes of Citus
// differ in their system identifiers.
func (l *lineage) add(s session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest, known := l.newest[s.system]
	if !known && len(l.newest) > 0 && !s.Citus {
		return fmt.Errorf("its system identifier is %s, and another was seen: it is another cluster; a restart accepts it", s.system)
	}
	if s.timeline < newest {
		return fmt.Errorf("its timeline is %d, and %d was seen: it is an old primary; "+
			"a restart accepts it once the newer one is gone", s.timeline, newest)
	}
	l.newest[s.system] = s.timeline
	return nil
}

// current reports whether no newer primary than that of s was seen since.
func (l *lineage) current(s session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.timeline >= l.newest[s.system]
}

func (l *lineage) logOnce(level slog.Level, text string, c *pgconn.PgConn, err error) {
	host := c.Conn().RemoteAddr().String()
	if _, logged := l.logged.LoadOrStore(fmt.Sprint(level, host, err), true); !logged {
		l.logger.Log(context.Background(), level, text, "host", host, "error", err)
	}
}
