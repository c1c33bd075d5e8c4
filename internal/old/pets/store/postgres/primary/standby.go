package primary

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// requireSync returns an error where the server would acknowledge a commit that
// no standby has, so that the primary's death could lose it, and where no
// synchronous standby is there.
func requireSync(ctx context.Context, c *pgx.Conn) error {
	names, err := Setting(ctx, c, "synchronous_standby_names")
	if err != nil {
		return err
	}
	commit, err := Setting(ctx, c, "synchronous_commit")
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(names) == "":
		return errors.New("--require-sync: the server waits for no standby, since its synchronous_standby_names is empty; set it, or leave out --require-sync")
	case commit == "off" || commit == "local":
		return fmt.Errorf("--require-sync: the server waits for no standby, since its synchronous_commit is %s; set it to on, or leave out --require-sync", commit)
	}
	switch n := countSynchronous(ctx, c); {
	case n < 0:
		return fmt.Errorf("--require-sync: the user may not see the standbys of the server; run GRANT pg_monitor TO %q there, or leave out --require-sync", c.Config().User)
	case n == 0:
		return errors.New("--require-sync: no synchronous standby streams from the server, which may be an old primary; start a standby, or leave out --require-sync")
	}
	return nil
}

// countSynchronous returns how many synchronous standbys stream from the server
// of the connection, or -1 where the user may not see that or the query fails.
func countSynchronous(ctx context.Context, c *pgx.Conn) int {
	var synchronous, hidden int
	err := c.QueryRow(ctx, `SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) FILTER (WHERE sync_state IS NULL)
FROM pg_stat_replication`).Scan(&synchronous, &hidden)
	if err != nil || synchronous == 0 && hidden > 0 {
		return -1
	}
	return synchronous
}

// requireExact returns an error where reads by standbys could be inexact, or no
// host could ever serve a read.
func requireExact(ctx context.Context, cl *cluster) error {
	for _, host := range cl.hosts {
		config := host.Copy()
		config.ValidateConnect = validateDirect
		err := once(ctx, config, func(*pgx.Conn) error { return nil })
		if errors.Is(err, errPooler) {
			return errors.New("--reads standbys: a pooler such as PgBouncer stands between, which hides the servers; name the servers themselves, or leave out --reads")
		}
	}
	if len(cl.hosts) < 2 {
		return errors.New("--reads standbys: the store address names one host only; name the standbys too, or leave out --reads")
	}
	return once(ctx, cl.config.ConnConfig, func(c *pgx.Conn) error {
		var commit string
		var mayMonitor bool
		err := c.QueryRow(ctx, "SELECT current_setting('synchronous_commit'), pg_has_role('pg_read_all_stats', 'USAGE')").Scan(&commit, &mayMonitor)
		switch {
		case err != nil:
			return err
		case commit == "off" || commit == "local":
			return fmt.Errorf("--reads standbys: commits may be shown before a standby can have them, since synchronous_commit is %s; set it to on, or leave out --reads", commit)
		case !mayMonitor:
			return fmt.Errorf("--reads standbys: the user may not see from which server a standby streams; run GRANT pg_monitor TO %q on the primary, or leave out --reads", c.Config().User)
		case serverOf(c.PgConn()).timeline == 0:
			return errors.New("--reads standbys: the primary does not tell its timeline; leave out --reads")
		}
		return nil
	})
}
