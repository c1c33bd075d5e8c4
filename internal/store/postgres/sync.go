package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// durability describes what protects the commits of a session against the loss
// of the server.
type durability struct {
	commit   string // synchronous_commit
	messages string // client_min_messages
	names    string // synchronous_standby_names

	standbys int // synchronous standbys that stream from the server
	hidden   int // standbys that the user may not see
}

func readDurability(ctx context.Context, conn *pgx.Conn) (d durability, err error) {
	err = conn.QueryRow(ctx, `SELECT current_setting('synchronous_commit'), current_setting('client_min_messages'),
current_setting('synchronous_standby_names'), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')),
count(*) FILTER (WHERE sync_state IS NULL) FROM pg_stat_replication`).Scan(&d.commit, &d.messages, &d.names, &d.standbys, &d.hidden)
	return d, err
}

// check returns an error if acknowledged writes could be lost in a crash, or with
// requireSync unless every commit waits for a synchronous standby and one is
// connected.
func (d durability) check(requireSync bool, user string) error {
	switch {
	case d.commit == "off":
		return errors.New("commits do not wait for the disk, because synchronous_commit is off for this user, database or server; set it to on")
	case !requireSync:
		return nil
	case strings.TrimSpace(d.names) == "":
		return errors.New("--require-sync: the server does not wait for a standby, because its synchronous_standby_names is empty; set it, or leave out --require-sync")
	case d.commit == "local":
		return errors.New("--require-sync: the server does not wait for a standby, because synchronous_commit is local for this user, database or server; set it to on, or leave out --require-sync")
	case !d.waits():
		return fmt.Errorf("--require-sync: a canceled wait for a standby would go unnoticed, because client_min_messages is %s for this user, database or server; set it to notice, or leave out --require-sync", d.messages)
	case d.standbysWaitedFor() < 0:
		return fmt.Errorf("--require-sync: the user may not see the server's standbys; run GRANT pg_monitor TO %q there, or leave out --require-sync", user)
	case d.standbysWaitedFor() == 0:
		return errors.New("--require-sync: no synchronous standby is connected to the server, which may be an old primary; start a standby, or leave out --require-sync")
	}
	return nil
}

// waits reports whether commits wait for a synchronous standby, and whether the
// server sends the WARNING that such a wait was canceled; see failOnWarning.
func (d durability) waits() bool {
	return d.commit != "off" && d.commit != "local" && d.messages != "error"
}

// standbysWaitedFor returns the number of synchronous standbys that commits wait for, or -1
// if the user may not see them.
func (d durability) standbysWaitedFor() int {
	switch {
	case !d.waits():
		return 0
	case d.standbys == 0 && d.hidden > 0:
		return -1
	}
	return d.standbys
}
