package primary

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxLag is how long a read waits for a standby that has not come far enough. A
// standby that takes longer serves no reads.
const maxLag = 50 * time.Millisecond

// standbyTimeout is the time of a batch on a standby, connecting and maxLag
// included. A read that has used it up still has most of its own for the primary.
const standbyTimeout = connectTimeout

// askStandby is a statement of its own, before the reads and after them. In one
// statement with a read it would be wrong: the snapshot of the read comes first,
// and the position may grow until it is asked for.
const askStandby = `SELECT pg_is_in_recovery(), coalesce((SELECT received_tli FROM pg_stat_wal_receiver), 0),
coalesce((pg_last_wal_replay_lsn() - '0/0')::bigint, 0)`

// The reasons for which a standby cannot serve a read.
var (
	errBehind        = errors.New("it is behind the primary by more than 50 ms")
	errNotInRecovery = errors.New("it is no standby")
	errOtherTimeline = errors.New("it does not stream from the primary")
	errNewer         = errors.New("it shows a row that the primary may not show yet")
	errPooler        = errors.New("a pooler such as PgBouncer stands before it")
)

// reached returns nil if a standby has replayed all that the primary had flushed
// at that position.
func (p position) reached(r pgx.BatchResults) error {
	var inRecovery bool
	var timeline uint32
	var replayed int64
	err := r.QueryRow().Scan(&inRecovery, &timeline, &replayed)
	switch {
	case err != nil:
		return err
	case !inRecovery:
		return errNotInRecovery
	case timeline != p.timeline:
		return errOtherTimeline
	case replayed < p.log:
		return errBehind
	}
	return nil
}

// sendExact runs reads on a standby. It returns nil if the snapshots of the reads
// have all that the primary showed at that position. The standby had replayed the log
// up to there before, and was the primary's standby to the end. A read that met a row
// of a transaction that had not ended at the position gets errNewer. Every other
// result is what the primary would have returned then.
//
// This holds only for rows that never change and are never deleted: xmin does not tell
// whether a row was replaced or deleted since.
func sendExact(ctx context.Context, c *pgx.Conn, p position, reads []*call) error {
	var batch pgx.Batch
	batch.Queue(askStandby)
	for _, read := range reads {
		batch.Queue(read.WithXmin, read.Args...)
	}
	if len(reads) > 0 {
		batch.Queue(askStandby)
	}
	results := c.SendBatch(ctx, &batch)
	err := p.reached(results)
	for _, read := range reads {
		if err != nil {
			break
		}
		visible := &visibleResults{BatchResults: results, oldest: p.xmin, newer: true}
		if err = read.Scan(visible); visible.newer {
			read.err = errNewer
		}
	}
	if err == nil && len(reads) > 0 {
		err = p.reached(results) // a promotion among the reads brings rows of any xmin
	}
	return errors.Join(err, results.Close())
}

// withPosition runs reads on a standby once it has come to that position, for
// which it has maxLag. Meanwhile it asks for the position alone: a standby that lags
// has no time to run the reads in vain.
func withPosition(ctx context.Context, c *pgx.Conn, p position, reads []*call) error {
	err := sendExact(ctx, c, p, reads)
	for pause := time.Millisecond; errors.Is(err, errBehind) && time.Since(p.asked) < maxLag && ctx.Err() == nil; pause *= 2 {
		time.Sleep(pause)
		if err = sendExact(ctx, c, p, nil); err == nil && len(reads) > 0 {
			err = sendExact(ctx, c, p, reads)
		}
	}
	return err
}

// validateDirect refuses a connection through a pooler. The pooler may give each
// batch another server, and its own number instead of that of a process.
func validateDirect(ctx context.Context, c *pgconn.PgConn) error {
	results, err := c.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil || len(results) == 0 || len(results[0].Rows) == 0 {
		return err
	}
	if pid, ok := transaction(pgx.TextFormatCode, results[0].Rows[0][0]); !ok || pid != c.PID() {
		return errPooler
	}
	return nil
}
