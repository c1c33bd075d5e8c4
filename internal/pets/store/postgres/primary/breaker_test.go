package primary

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAnOpenBreakerAllowsOneCallEveryWhileUntilASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker
		wantAllowed := func(when string, calls, want int) {
			t.Helper()
			got := 0
			for range calls {
				if b.allow() {
					got++
				}
			}
			if got != want {
				t.Errorf("%s: got %d of %d calls allowed, want %d", when, got, calls, want)
			}
		}
		wantAllowed("at first", 5, 5)
		start := time.Now()
		time.Sleep(outageWait - time.Millisecond)
		b.failure(start)
		wantAllowed("before it opens", 5, 5)
		time.Sleep(time.Millisecond)
		wantAllowed("just after a failure", 5, 0)
		time.Sleep(connectTimeout)
		wantAllowed("a while later", 5, 1)
		b.success()
		wantAllowed("after a success", 5, 5)
		b.failure(start)
		wantAllowed("after a failure that began before a success", 5, 5)
	})
}
