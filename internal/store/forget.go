package store

import (
	"context"
	"log/slog"
	"time"

	"example.com/petstore/internal/pets"
)

const (
	keepIdempotencyKeys = 7 * 24 * time.Hour
	forgetDelay         = 5 * time.Second // after the start
	forgetInterval      = time.Hour
)

// ForgetIdempotencyKeys deletes the idempotency keys that are older than seven days, soon
// after it is called and then every hour, until ctx ends. If deleting fails several times
// in a row, for example because a privilege is missing, it logs only the first error.
func ForgetIdempotencyKeys(ctx context.Context, s pets.Store, logger *slog.Logger) {
	failed := false
	for wait := forgetDelay; ; wait = forgetInterval {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		err := forgetBefore(ctx, s, time.Now().Add(-keepIdempotencyKeys))
		if err != nil && !failed && ctx.Err() == nil {
			logger.Warn("old idempotency keys were not deleted", "error", err)
		}
		failed = err != nil
	}
}

// forgetBefore deletes the idempotency keys that are older than a time, in batches.
func forgetBefore(ctx context.Context, s pets.Store, before time.Time) error {
	for {
		n, err := s.ForgetIdempotencyKeys(ctx, before)
		if n == 0 || err != nil {
			return err
		}
	}
}
