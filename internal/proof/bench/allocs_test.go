//go:build !race

package bench

import "testing"

// The race detector allocates too and empties pools at random, so this file is
// not part of a run under it; `make test` runs this package without it as well.

// TestARequestAllocatesNoMoreThanPromised pins counts, which times cannot:
// they are the same on every machine.
func TestARequestAllocatesNoMoreThanPromised(t *testing.T) {
	most := map[string]float64{"list": 15, "filtered": 16, "get": 12, "create": 31}
	h := petstoreHandler(t)
	for _, op := range Operations() {
		q, resp := prepare(t, op)
		got := testing.AllocsPerRun(2000, func() { q.send(h, resp) })
		if got > most[op.Name] {
			t.Errorf("%s: got %.0f allocations a request, want at most %.0f", op.Name, got, most[op.Name])
		}
		t.Logf("%s: %.0f allocations a request", op.Name, got)
	}
}
