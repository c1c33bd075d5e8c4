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

// ForgetIdempotencyKeys forgets the idempotency keys that are older than seven days,
// soon and then every hour until ctx ends. Of failures that follow one another, such as
// those of a missing privilege, it logs the first.
func ForgetIdempotencyKeys(ctx context.Context, s pets.Store, logger *slog.Logger) {
	failing := false
	for wait := forgetDelay; ; wait = forgetInterval {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		before := time.Now().Add(-keepIdempotencyKeys)
		n, err := s.ForgetIdempotencyKeys(ctx, before)
		for n > 0 && err == nil {
			n, err = s.ForgetIdempotencyKeys(ctx, before)
		}
		if err != nil && !failing && ctx.Err() == nil {
			logger.Warn("old idempotency keys were not deleted", "error", err)
		}
		failing = err != nil
	}
}
