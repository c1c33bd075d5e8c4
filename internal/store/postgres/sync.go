package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// durability describes what protects the commits of a session against the loss of
// the server.
type durability struct {
	commit, messages, names string // synchronous_commit, client_min_messages, synchronous_standby_names

	standbys int // synchronous standbys that commits wait for; -1 if unknown
}

// readDurability counts no standby if commits do not wait for it, or if the server
// does not send the WARNING that such a wait was canceled; see attempt.
func readDurability(ctx context.Context, conn *pgx.Conn) (durability, error) {
	d := durability{standbys: -1}
	err := conn.QueryRow(ctx, `SELECT sync, messages, names, CASE
WHEN sync IN ('off', 'local') OR messages = 'error' THEN 0 WHEN standbys = 0 AND hidden > 0 THEN -1 ELSE standbys END
FROM current_setting('synchronous_commit') AS sync, current_setting('client_min_messages') AS messages,
current_setting('synchronous_standby_names') AS names, (SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS standbys,
count(*) FILTER (WHERE sync_state IS NULL) AS hidden FROM pg_stat_replication) AS replication`).Scan(&d.commit, &d.messages, &d.names, &d.standbys)
	return d, err
}

// check returns an error if a crash could lose acknowledged writes, or with
// requireSync unless commits wait for a synchronous standby and one is connected.
func (d durability) check(requireSync bool, user string) error {
	var reason string
	switch {
	case d.commit == "off":
		return errors.New("a crash of the server would lose writes, because synchronous_commit is off for this server, database or user; set it to on")
	case !requireSync:
		return nil
	case strings.TrimSpace(d.names) == "":
		reason = "the server does not wait for a standby, because its synchronous_standby_names is empty; set it"
	case d.commit == "local":
		reason = "the server does not wait for a standby, because synchronous_commit is local for this server, database or user; set it to on"
	case d.messages == "error":
		reason = "a canceled wait for a standby would go unnoticed, because client_min_messages is error for this server, database or user; set it to notice"
	case d.standbys < 0:
		reason = fmt.Sprintf("the user may not see the server's standbys; run GRANT pg_monitor TO %q there", user)
	case d.standbys == 0:
		reason = "no synchronous standby is connected to the server, which may be an old primary; start a standby"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotSynchronous, reason)
}
