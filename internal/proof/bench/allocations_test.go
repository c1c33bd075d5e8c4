//go:build !race

package bench

import (
	"testing"

	"example.com/petstore/internal/proof/bench/peers"
)

// TestHandlerAllocations fails if petstore allocates more often than the peer that
// uses the same libraries.
func TestHandlerAllocations(t *testing.T) {
	for _, o := range operations {
		ours := testing.AllocsPerRun(1000, caller(t, petstore, o))
		theirs := testing.AllocsPerRun(1000, caller(t, peers.Documented, o))
		if ours > theirs {
			t.Errorf("%s: got %v allocations, but %s makes %v", o.name, ours, peers.Documented, theirs)
		}
	}
}
