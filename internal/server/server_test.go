package server

import (
	"slices"
	"testing"
	"time"
)

func TestEachTimeOfTheServerKnowsItsNeighbour(t *testing.T) {
	times := []time.Duration{readTimeout, writeTimeout, idleTimeout}
	if !slices.IsSorted(times) || DefaultDrain+shutdownTimeout >= 30*time.Second {
		t.Errorf("times: got %v, and %v for drain and shutdown, want them ascending, and the end within half a minute", times, DefaultDrain+shutdownTimeout)
	}
}
