package limit

import (
	"context"
	"slices"
	"sync"
)

// Rows bounds how many rows all calls together ask for at once. The size
// of a page is known only once it has been read, and only then does it count against
// a Budget. Without Rows every call under way could hold the largest page.
//
// Calls beyond the bound wait in a queue of their key, and the keys take turns, so
// that a key with many calls delays its own and no others. A semaphore of
// golang.org/x/sync, which serves all calls in the order they came, was tried. The
// first list of a new key beside 32 readers of large pages took three times as long.
type Rows struct {
	most int64

	mu     sync.Mutex
	asked  int64
	queues []*rowQueue // of keys with calls that wait, by turns
}

type rowQueue struct {
	key   string
	calls []*rowCall // in the order they came, 1 at least
}

type rowCall struct {
	rows  int64
	begun chan struct{} // closed once the rows may be asked
}

// NewRows returns a bound of most rows.
func NewRows(most int64) *Rows { return &Rows{most: most} }

// Begin waits until n more rows may be asked for the key, or until ctx ends. n is at
// most the bound. Without an error, End must follow.
func (r *Rows) Begin(ctx context.Context, key string, n int64) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if len(r.queues) == 0 && r.asked+n <= r.most {
		r.asked += n
		r.mu.Unlock()
		return nil
	}
	call := r.enqueue(key, n)
	r.mu.Unlock()
	select {
	case <-call.begun:
		return nil
	case <-ctx.Done():
		r.abandon(key, call)
		return ctx.Err()
	}
}

// End gives the rows back.
func (r *Rows) End(n int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked -= n
	r.admit()
}

func (r *Rows) enqueue(key string, n int64) *rowCall {
	call := &rowCall{n, make(chan struct{})}
	if q := r.queueOf(key); q != nil {
		q.calls = append(q.calls, call)
	} else {
		r.queues = append(r.queues, &rowQueue{key, []*rowCall{call}})
	}
	return call
}

func (r *Rows) queueOf(key string) *rowQueue {
	for _, q := range r.queues { // no more than there are calls under way
		if q.key == key {
			return q
		}
	}
	return nil
}

// admit begins calls as long as the next in turn has room. A call for fewer rows
// does not overtake it, else many of them would keep a large one waiting.
func (r *Rows) admit() {
	for len(r.queues) > 0 {
		q := r.queues[0]
		call := q.calls[0]
		if r.asked+call.rows > r.most {
			return
		}
		r.asked += call.rows
		close(call.begun)
		r.queues = r.queues[1:]
		if q.calls = q.calls[1:]; len(q.calls) > 0 {
			r.queues = append(r.queues, q)
		}
	}
}

// abandon takes a call out of its queue, or gives back its rows where it has begun
// meanwhile.
func (r *Rows) abandon(key string, call *rowCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-call.begun:
		r.asked -= call.rows
	default:
		q := r.queueOf(key)
		q.calls = slices.DeleteFunc(q.calls, func(c *rowCall) bool { return c == call })
		if len(q.calls) == 0 {
			r.queues = slices.DeleteFunc(r.queues, func(other *rowQueue) bool { return other == q })
		}
	}
	r.admit()
}
