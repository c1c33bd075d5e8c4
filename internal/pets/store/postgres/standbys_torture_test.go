//go:build postgres && torture

package postgres_test

import "testing"

// A copy of the whole primary takes the disk from all servers, again and again, so this
// test wants a machine of its own: on a busy one, writes take longer than a request may.
func TestTortureReadsAreLinearizableWhileAStandbyIsRebuilt(t *testing.T) {
	r := startReaders(t)
	r.primary.Configure(t, map[string]string{"synchronous_standby_names": "two"})
	r.during(t, func() { r.one.Rebuild(t, r.primary, "one") })
	r.wantServing(t, r.one)
}
