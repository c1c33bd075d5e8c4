package limit

import (
	"errors"
	"runtime/debug"
	"sync"
	"time"
)

// ErrSpent is why bytes were refused: others hold too many, or the same key does.
var ErrSpent = errors.New("too many bytes of responses are on their way")

// ErrTooLarge is why bytes were refused that one key can never hold.
var ErrTooLarge = errors.New("the response is larger than the share of one key")

// keyShare is the part of a budget that one key may hold: a quarter.
const keyShare = 4

// returnAfter is the time without any held bytes after which their memory returns to
// the system. Go by itself would keep it for minutes.
const returnAfter = 2 * time.Second

// Budget bounds how many bytes are held at once: in all, and a quarter of that for
// each key.
type Budget struct {
	most int64

	mu      sync.Mutex
	held    int64
	byKey   map[string]int64
	peak    int64 // the most held since memory went back
	refused int64
	returns *time.Timer
}

// NewBudget returns a budget of most bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most, byKey: map[string]int64{}} }

// Take takes n bytes for the key, or fails: with ErrTooLarge where trying again is in
// vain, or else with ErrSpent. Without an error, Give must follow.
func (b *Budget) Take(key string, n int64) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.most/keyShare {
		b.refused++
		return ErrTooLarge
	}
	if b.held+n > b.most || b.byKey[key]+n > b.most/keyShare {
		b.refused++
		return ErrSpent
	}
	b.held += n
	b.byKey[key] += n
	b.peak = max(b.peak, b.held)
	return nil
}

// Give gives back what Take took.
func (b *Budget) Give(key string, n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.byKey[key] -= n; b.byKey[key] == 0 {
		delete(b.byKey, key)
	}
	if b.held > 0 || b.peak < b.most/16 { // one large page
		return
	}
	if b.returns == nil {
		b.returns = time.AfterFunc(returnAfter, b.returnMemory)
	} else {
		b.returns.Reset(returnAfter)
	}
}

func (b *Budget) returnMemory() {
	b.mu.Lock()
	idle := b.held == 0
	if idle {
		b.peak = 0
	}
	b.mu.Unlock()
	if idle {
		debug.FreeOSMemory()
	}
}

// BudgetStats are figures of a Budget.
type BudgetStats struct {
	Held, Most int64 // bytes
	Refused    int64 // since the start
}

// Stats returns the figures of now.
func (b *Budget) Stats() BudgetStats {
	if b == nil {
		return BudgetStats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return BudgetStats{Held: b.held, Most: b.most, Refused: b.refused}
}
