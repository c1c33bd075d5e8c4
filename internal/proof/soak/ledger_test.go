//go:build postgres && torture

package soak

import (
	"fmt"
	"maps"
	"sync"
)

// ledger has the names of acknowledged animals and their
// identifiers. Every name is given once.
type ledger struct {
	mu     sync.Mutex
	ids    map[string]int64
	names  []string
	faults []string
}

func newLedger() *ledger { return &ledger{ids: map[string]int64{}} }

// acknowledge enters an animal. The same name under two identifiers is a
// doubled animal.
func (l *ledger) acknowledge(name string, id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first, known := l.ids[name]; known && first != id {
		l.faults = append(l.faults, fmt.Sprintf("%s is animal %d and animal %d", name, first, id))
		return
	}
	l.ids[name] = id
	l.names = append(l.names, name)
}

// fault enters a broken promise.
func (l *ledger) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// snapshot returns the animals that are acknowledged now.
func (l *ledger) snapshot() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.ids)
}

// pick returns an acknowledged animal, drawn by random, and false where there is
// none yet.
func (l *ledger) pick(random func(n int) int) (name string, id int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.names) == 0 {
		return "", 0, false
	}
	name = l.names[random(len(l.names))]
	return name, l.ids[name], true
}

// compare returns how many acknowledged animals a walk lacks, and how many it
// has twice. imported names are not in the ledger.
func compare(acknowledged map[string]int64, walked map[int64]string) (lost, doubled int) {
	times := map[string]int{}
	for _, name := range walked {
		times[name]++
	}
	for name, id := range acknowledged {
		if walked[id] != name {
			lost++
		}
		if times[name] > 1 {
			doubled++
		}
	}
	return lost, doubled
}
