package keys

import (
	"context"
	"log/slog"
	"time"
)

// useInterval is how often uses are recorded.
const useInterval = 30 * time.Second

// RecordUses records in the store when keys were last used, every 30 s and once
// more when ctx ends. It logs a failure and retries it the next time.
func (k *Keyring) RecordUses(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(useInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		done := ctx.Err() != nil
		if err := k.recordUses(context.WithoutCancel(ctx)); err != nil {
			log.Warn("the last uses of API keys were not stored", "error", err)
		}
		if done {
			return
		}
	}
}

func (k *Keyring) recordUses(ctx context.Context) error {
	k.mu.Lock()
	used := k.used
	k.used = map[string]time.Time{}
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	err := k.store.RecordKeyUse(ctx, used)
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		for id, at := range used {
			if _, again := k.used[id]; !again {
				k.used[id] = at
			}
		}
	}
	return err
}
