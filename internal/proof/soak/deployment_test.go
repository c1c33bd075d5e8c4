//go:build postgres && torture

package soak

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// deployment is servers that share a store, their load and what may happen to
// them.
type deployment struct {
	servers []*server
	events  []event
	random  *rand.Rand // draws the events, from the printed seed
	ledger  *ledger
	counts  counts

	happened           map[string]int
	memory, files      []int64 // one sample a second, of the largest process
	lost, doubled, all int
}

// event is something that happens to a deployment.
type event struct {
	name   string
	weight int // how often, beside the others
	happen func(t *testing.T)
}

// draw picks an event by weight.
func (d *deployment) draw() event {
	total := 0
	for _, e := range d.events {
		total += e.weight
	}
	n := d.random.IntN(total)
	for _, e := range d.events {
		if n -= e.weight; n < 0 {
			return e
		}
	}
	panic("unreachable")
}

func (d *deployment) anyServer() *server { return d.servers[d.random.IntN(len(d.servers))] }

// soak lets the load run and events happen for that long, then walks.
func (d *deployment) soak(t *testing.T, length time.Duration) {
	d.happened = map[string]int{}
	stopLoad := d.startLoad(t.Context())
	stopSampling := d.startSampling()
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		pause := time.Duration(d.random.Int64N(int64(2 * time.Second)))
		time.Sleep(min(pause, time.Until(end)))
		e := d.draw()
		t.Logf("%v left: %s", time.Until(end).Round(time.Second), e.name)
		e.happen(t)
		d.happened[e.name]++
	}
	stopLoad()
	stopSampling()
	walked, err := walk(d.servers[0])
	if err != nil {
		t.Fatalf("the walk at the end: got error %v", err)
	}
	d.all = len(walked)
	d.lost, d.doubled = compare(d.ledger.snapshot(), walked)
}

func (d *deployment) startSampling() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var memory, files int64
			for _, s := range d.servers {
				m, f := s.usage()
				memory, files = max(memory, m), max(files, int64(f))
			}
			d.memory, d.files = append(d.memory, memory), append(d.files, files)
			select {
			case <-end:
				return
			case <-time.After(time.Second):
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// maxMemory and maxFiles are far above the use of a healthy server, and far below
// that of one that leaks for an hour.
const (
	maxMemory = 512 << 20
	maxFiles  = 512
)

func (d *deployment) check(t *testing.T) {
	if n := len(d.ledger.ids); n == 0 || d.lost > 0 || d.doubled > 0 {
		t.Errorf("animals: got %d acknowledged, %d lost, %d doubled; want some acknowledged and none lost or doubled", n, d.lost, d.doubled)
	}
	if n := len(d.ledger.faults); n > 0 {
		t.Errorf("broken promises: got %d, want none: %q", n, d.ledger.faults[:min(n, 5)])
	}
	for i := range d.memory {
		if d.memory[i] > maxMemory || d.files[i] > maxFiles {
			t.Errorf("second %d: got %d MiB and %d open files, want at most %d and %d", i, d.memory[i]>>20, d.files[i], maxMemory>>20, maxFiles)
			break
		}
	}
}

// table returns the figures of the run.
func (d *deployment) table() string {
	var b strings.Builder
	row := func(name string, format string, args ...any) {
		fmt.Fprintf(&b, "  %-38s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("creates sent", "%d", d.counts.creates.Load())
	row("reads sent", "%d", d.counts.reads.Load())
	row("slow reads sent", "%d", d.counts.slow.Load())
	row("failed, and sent again", "%d", d.counts.failed.Load())
	row("acknowledged", "%d", len(d.ledger.ids))
	row("animals at the end", "%d", d.all)
	row("acknowledged and lost", "%d", d.lost)
	row("doubled", "%d", d.doubled)
	row("broken promises", "%d", len(d.ledger.faults))
	for _, e := range d.events {
		row(e.name, "%d", d.happened[e.name])
	}
	row("memory, quarter by quarter", "%s MiB", quarters(d.memory, 1<<20))
	row("open files, likewise", "%s", quarters(d.files, 1))
	return b.String()
}

// quarters returns the greatest sample of each quarter of the run.
func quarters(samples []int64, unit int64) string {
	var parts []string
	for i := range 4 {
		var greatest int64
		for _, s := range samples[len(samples)*i/4 : len(samples)*(i+1)/4] {
			greatest = max(greatest, s)
		}
		parts = append(parts, fmt.Sprint(greatest/unit))
	}
	return strings.Join(parts, ", ")
}
