//go:build !race

package check_test

import (
	"slices"
	"sync"
	"testing"

	"example.com/petstore/internal/check"
)

// Under the race detector these 40,000 requests take a minute, and it finds no
// more in them than in those of a sound server: `make test` sends them without it.

// TestEveryRuleCanFail holds a server with each fault against all rules: those
// named fail, no others, and in the end there is none that never failed.
func TestEveryRuleCanFail(t *testing.T) {
	const address = "the base address ends in /v1" // has a test of its own
	failed := map[string]bool{address: true}
	var mu sync.Mutex
	faults := slices.Concat(
		authenticationFaults(), addingFaults(), refusingFaults(), retryingFaults(), listingFaults(),
		pagingFaults(), gettingFaults(), routingFaults(), everyFaults(),
	)
	t.Run("faults", func(t *testing.T) {
		for _, f := range faults {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				got := of(run(t, serve(t, wrong(rightHandler(t, 30), f.before, f.after))), check.Fails)
				slices.Sort(f.rules)
				if !slices.Equal(got, f.rules) {
					t.Errorf("rules that do not hold:\ngot  %q\nwant %q", got, f.rules)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, title := range got {
					failed[title] = true
				}
			})
		}
	})
	for _, r := range check.Rules() {
		if !failed[r.Title] {
			t.Errorf("%s: %s: got no fault that makes it fail, want one", r.Group, r.Title)
		}
	}
}
