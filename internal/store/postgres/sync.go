package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// requireSync returns an error unless every commit waits for a synchronous
// standby and one is connected.
func requireSync(ctx context.Context, conn *pgx.Conn) error {
	var names, commit string
	err := conn.QueryRow(ctx, "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit')").Scan(&names, &commit)
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(names) == "":
		return errors.New("--require-sync: the server does not wait for a standby, because its synchronous_standby_names is empty; set it, or leave out --require-sync")
	case commit == "off" || commit == "local":
		return fmt.Errorf("--require-sync: the server does not wait for a standby, because its synchronous_commit is %s; set it to on, or leave out --require-sync", commit)
	}
	n, err := countSync(ctx, conn)
	switch {
	case err != nil:
		return err
	case n < 0:
		return fmt.Errorf("--require-sync: the user may not see the server's standbys; run GRANT pg_monitor TO %q there, or leave out --require-sync", conn.Config().User)
	case n == 0:
		return errors.New("--require-sync: no synchronous standby is connected to the server, which may be an old primary; start a standby, or leave out --require-sync")
	}
	return nil
}

// countSync returns the number of synchronous standbys that stream from the
// server, or -1 if the user may not see them.
func countSync(ctx context.Context, conn *pgx.Conn) (n int, err error) {
	var hidden int
	err = conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) FILTER (WHERE sync_state IS NULL)
FROM pg_stat_replication`).Scan(&n, &hidden)
	if err != nil || n == 0 && hidden > 0 {
		return -1, err
	}
	return n, nil
}
