package primary

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/sethvargo/go-retry"
)

// dedicated runs f at most once. A host has outageWait to respond, longer than
// for a request, and the cluster retryFor to have a primary.
func dedicated(ctx context.Context, cl *cluster, f func(*pgx.Conn) error) error {
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
