package keys

import (
	"context"
	"sync/atomic"
	"time"
)

// useInterval is how often the uses of keys are stored, and so the longest time
// by which a stored use is late. The promise is a minute.
const useInterval = 30 * time.Second

// use is the time of a known key's last use, in Unix seconds.
type use struct {
	last   atomic.Int64
	stored int64 // only for the one goroutine that stores
}

// at notes a use. Most calls only read: a second has many requests.
func (u *use) at(now time.Time) {
	if s := now.Unix(); u.last.Load() != s {
		u.last.Store(s)
	}
}

// RecordUse stores the last use of the store's keys every 30 s, and once more when
// stop is called. It stores nothing of fixed keys. Uses that cannot be stored are
// tried again the next time; stop returns the error of the last try.
func (k *Keyring) RecordUse() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(useInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = k.storeUses(ctx) // the next time tries again
			case <-ctx.Done():
				ended <- k.storeUses(context.WithoutCancel(ctx))
				return
			}
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// storeUses stores the uses since the last time it did.
func (k *Keyring) storeUses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	fresh, times := map[*use]int64{}, map[string]time.Time{}
	k.mu.RLock()
	for id, e := range k.known {
		if last := e.use.last.Load(); last != e.use.stored {
			fresh[e.use] = last
			times[id] = time.Unix(last, 0)
		}
	}
	k.mu.RUnlock()
	if len(times) == 0 {
		return nil
	}
	if err := k.store.RecordKeyUse(ctx, times); err != nil {
		return err
	}
	for u, last := range fresh {
		u.stored = last
	}
	return nil
}
