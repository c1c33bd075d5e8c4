package limit

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Rows bounds how many rows are asked of the store at once, in all calls. The size
// of a page is known only once it has been read, and only then does it count against
// a Budget. Without Rows every call under way could hold the largest page.
type Rows struct{ semaphore *semaphore.Weighted }

// NewRows returns a bound of most rows.
func NewRows(most int64) *Rows { return &Rows{semaphore.NewWeighted(most)} }

// Begin waits, in the order calls came, until n more rows may be asked, or until
// ctx ends. n is at most the bound. Without an error, End must follow.
func (r *Rows) Begin(ctx context.Context, n int64) error {
	if r == nil {
		return nil
	}
	// Acquire asks ctx for its Done channel first, which a request's context makes
	// with a timer: 4 % of a create.
	if r.semaphore.TryAcquire(n) {
		return nil
	}
	return r.semaphore.Acquire(ctx, n)
}

// End gives the rows back.
func (r *Rows) End(n int64) {
	if r != nil {
		r.semaphore.Release(n)
	}
}
