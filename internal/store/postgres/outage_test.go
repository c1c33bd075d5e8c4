package postgres

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAnOutageRefusesAllButOneEveryWhileUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outage
		wantAdmitted := func(when string, calls, want int) {
			t.Helper()
			got := 0
			for range calls {
				if o.admit() {
					got++
				}
			}
			if got != want {
				t.Errorf("%s: got %d of %d calls admitted, want %d", when, got, calls, want)
			}
		}
		wantAdmitted("at first", 5, 5)
		start := time.Now()
		time.Sleep(outageWait - time.Millisecond)
		o.fail(start)
		wantAdmitted("before it lasts", 5, 5)
		time.Sleep(time.Millisecond)
		wantAdmitted("just after a failure", 5, 0)
		time.Sleep(connectTimeout)
		wantAdmitted("a while later", 5, 1)
		o.end()
		wantAdmitted("after it", 5, 5)
		o.fail(start)
		wantAdmitted("after a failure that began before a success", 5, 5)
	})
}
