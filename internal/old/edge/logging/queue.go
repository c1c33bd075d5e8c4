package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// batchDelay is how long a line waits for others. One system call for each
	// line would be a tenth of the time of a request.
	batchDelay = 2 * time.Millisecond

	// maxKept is how much is kept, in bytes, while the log is not read.
	maxKept = 1 << 20

	// endTimeout is how long the end waits for a reader.
	endTimeout = time.Second
)

// queue keeps lines until a goroutine of its own has written them, so that no
// caller waits for the reader of the log.
type queue struct {
	to     io.Writer
	notice func(missing int) []byte
	wake   chan struct{} // holds one token while lines wait; closed at the end
	ended  chan struct{} // closed once the goroutine has returned

	mu        sync.Mutex
	text      []byte       // the lines that wait
	lines     []queuedLine // each of them
	writing   int          // bytes that are being written
	missing   int          // lines that were dropped and not yet announced
	announced int          // of those, the ones in the notice that is being written
	total     int64        // lines that were dropped since the start
	closed    bool
}

// queuedLine is a line of the queue's text.
type queuedLine struct {
	end       int
	important bool
}

func newQueue(to io.Writer) *queue {
	return &queue{to: to, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (q *queue) start(notice func(missing int) []byte) {
	q.notice = notice
	go q.run()
}

// queueWriter puts each line that is written to it into the queue.
type queueWriter struct {
	queue     *queue
	important bool
}

func (w queueWriter) Write(line []byte) (int, error) {
	w.queue.put(line, w.important)
	return len(line), nil
}

// put keeps the line, or drops it where there is no room. For an important line
// the others give way.
func (q *queue) put(line []byte, important bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if important && !q.fits(line) {
		q.dropUnimportant()
	}
	if !q.fits(line) || q.closed {
		q.drop(1)
		return
	}
	q.text = append(q.text, line...)
	q.lines = append(q.lines, queuedLine{len(q.text), important})
	if len(q.lines) == 1 {
		select {
		case q.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

func (q *queue) drop(lines int) {
	q.missing += lines
	q.total += int64(lines)
}

func (q *queue) fits(line []byte) bool { return q.writing+len(q.text)+len(line) <= maxKept }

func (q *queue) dropUnimportant() {
	text, lines, begin := q.text[:0], q.lines[:0], 0
	for _, l := range q.lines {
		line := q.text[begin:l.end]
		begin = l.end
		if !l.important {
			q.drop(1)
			continue
		}
		text = append(text, line...) // to the left of where it stands
		lines = append(lines, queuedLine{len(text), true})
	}
	q.text, q.lines = text, lines
}

func (q *queue) run() {
	defer close(q.ended)
	var spare []byte
	for {
		_, more := <-q.wake
		if more {
			time.Sleep(batchDelay)
		}
		for {
			text, lines := q.take(spare)
			spare = text[:0]
			if len(text) == 0 {
				break
			}
			_, err := q.to.Write(text)
			q.wrote(lines, err)
			if err != nil {
				break // the next line tries again
			}
		}
		if !more {
			return
		}
	}
}

// take returns the lines that wait, behind the notice of those that are missing,
// and how many they are.
func (q *queue) take(spare []byte) (text []byte, lines int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	text, lines = spare[:0], len(q.lines)
	q.announced = q.missing
	if q.missing > 0 {
		text = append(append(text, q.notice(q.missing)...), q.text...)
		q.text, q.missing = q.text[:0], 0
	} else {
		text, q.text = q.text, text
	}
	q.lines = q.lines[:0]
	q.writing = len(text)
	return text, lines
}

// wrote notes the end of a write. Lines that were refused, as by a full disk,
// are missing.
func (q *queue) wrote(lines int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writing = 0
	if err != nil {
		q.drop(lines)
		q.missing += q.announced
	}
}

// end writes the lines that wait, while they are read, and stops the goroutine.
func (q *queue) end() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.wake)
	}
	q.mu.Unlock()
	select {
	case <-q.ended:
	case <-time.After(endTimeout):
	}
}

func missingLine(o Options, missing int) []byte {
	var line bytes.Buffer
	r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of the log are missing here: it was not read, or could not be written", 0)
	r.AddAttrs(slog.Int("missing", missing))
	_ = NewHandler(&line, o).Handle(context.Background(), r) // a buffer takes everything
	return line.Bytes()
}
