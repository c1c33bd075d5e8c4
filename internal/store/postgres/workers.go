package postgres

import "sync/atomic"

// workers run writes apart from their callers. A goroutine that has run one
// waits for the next, because a new one spends a tenth of a write's time on
// growing its stack, and as much on being started.
type workers struct {
	next chan func()
	end  chan struct{}
	idle atomic.Int32
}

// mostIdle is how many goroutines wait, as many as there are connections that
// they could use.
const mostIdle = maxConns

func newWorkers() *workers {
	return &workers{next: make(chan func()), end: make(chan struct{})}
}

// run returns at once.
func (w *workers) run(f func()) {
	select {
	case w.next <- f:
	default:
		go w.work(f)
	}
}

func (w *workers) work(f func()) {
	for {
		f()
		if w.idle.Add(1) > mostIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case f = <-w.next:
			w.idle.Add(-1)
		case <-w.end:
			return
		}
	}
}

// close ends those that wait, and the others once they would.
func (w *workers) close() { close(w.end) }
