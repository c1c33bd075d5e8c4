package primary

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// maxBatch bounds the calls of one round trip, and so the cost of a batch whose
// statement fails, and its memory: 4 MiB of names.
const maxBatch = 64

// slowRound is the duration of a round trip from which more workers join. It is
// above the response time of a server near by, even on a busy processor, and
// below a commit that waits for a disk or a standby.
const slowRound = 1500 * time.Microsecond

// batcher hands calls to workers. Each worker takes all calls that wait and
// executes them as one batch.
type batcher struct {
	execute func(calls []*call) // closes done of each call
	writes  bool
	queue   chan *call
	workers sync.WaitGroup
	stop    chan struct{}
	load    load
}

// load is the number of extra workers and the figures that decide it. The fewer
// workers, the more calls share a batch: with 16 instead of 2, a list costs this
// process twice the processor time and a create three times. But two are too few
// where commits are slow or a statement waits for a lock.
type load struct {
	maxExtra  int32
	extra     atomic.Int32
	round     atomic.Int64 // the moving average of a round trip, in nanoseconds
	lastTaken atomic.Int64 // when a worker took calls last, in Unix nanoseconds
}

// newBatcher starts as many workers as this process can keep busy, and at least
// two so that one may wait for the server. It never has more than maxWorkers.
func newBatcher(maxWorkers int32, writes bool, execute func([]*call)) *batcher {
	b := &batcher{execute: execute, writes: writes, queue: make(chan *call), stop: make(chan struct{})}
	first := min(maxWorkers, int32(max(2, runtime.GOMAXPROCS(0))))
	b.load.maxExtra = maxWorkers - first
	for range first {
		b.workers.Go(b.work)
	}
	return b
}

// close ends the workers. The caller makes sure that no call runs.
func (b *batcher) close() {
	close(b.stop)
	b.workers.Wait()
}

func (b *batcher) work() {
	for {
		select {
		case c := <-b.queue:
			b.round(c)
		case <-b.stop:
			return
		}
	}
}

// startExtra starts a worker for c if the present workers are too slow, and
// reports whether it did. The worker ends when no call waits.
func (b *batcher) startExtra(c *call) bool {
	l := &b.load
	sinceTaken := time.Now().UnixNano() - l.lastTaken.Load()
	if l.round.Load() < int64(slowRound) && sinceTaken < int64(slowRound) {
		return false
	}
	if l.extra.Add(1) > l.maxExtra {
		l.extra.Add(-1)
		return false
	}
	b.workers.Go(func() {
		defer l.extra.Add(-1)
		for c != nil {
			b.round(c)
			select {
			case c = <-b.queue:
			default:
				c = nil
			}
		}
	})
	return true
}

// round executes the call with all calls that wait beside it.
func (b *batcher) round(c *call) {
	b.load.lastTaken.Store(time.Now().UnixNano())
	calls := b.gather(c)
	began := time.Now() // after gather: to wait for a processor is no reason for more workers
	b.execute(calls)
	average := b.load.round.Load()
	b.load.round.Store(average + (int64(time.Since(began))-average)/8) // two workers may lose an update
}

func (b *batcher) gather(c *call) []*call {
	calls := []*call{c}
	// Let callers that are about to send do so: without it a get costs a fifth more
	// processor time, and a list a quarter.
	runtime.Gosched()
	for len(calls) < maxBatch {
		select {
		case c := <-b.queue:
			calls = append(calls, c)
		default:
			return calls
		}
	}
	return calls
}
