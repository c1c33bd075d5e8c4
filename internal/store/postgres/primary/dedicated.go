package primary

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/sethvargo/go-retry"
)

// once runs f with a connection of its own.
func once(ctx context.Context, config *pgx.ConnConfig, f func(*pgx.Conn) error) error {
	c, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	// Close sends a farewell that needs no response.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	return errors.Join(f(c), c.Close(closing))
}

// dedicated runs f at most once. A host has outageWait to respond, longer than
// for a request, and the cluster retryFor to have a primary.
func (cl *cluster) dedicated(ctx context.Context, f func(*pgx.Conn) error) error {
	config := cl.config.ConnConfig.Copy()
	config.ConnectTimeout = max(config.ConnectTimeout, outageWait)
	var connected bool
	err := retry.Do(ctx, retry.WithMaxDuration(retryFor, Backoff()), func(ctx context.Context) error {
		err := once(ctx, config, func(c *pgx.Conn) error {
			connected = true
			err := f(c)
			if err == nil && cl.timeline.isStale(serverOf(c.PgConn())) {
				err = errStale
			}
			return err
		})
		if o := OutcomeOf(err); err != nil && !connected && o != NeedsOperator && o != BadInput {
			err = retry.RetryableError(err)
		}
		return err
	})
	if err != nil && !connected {
		return &Error{Outcome: NotExecuted, Err: err}
	}
	return err
}

// Once runs f with a connection of its own and does not retry.
func (db *DB) Once(ctx context.Context, f func(*pgx.Conn) error) error {
	return once(ctx, db.cluster.config.ConnConfig, f)
}
