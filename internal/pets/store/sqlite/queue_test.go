package sqlite

import (
	"testing"
	"testing/synctest"
)

// commitTogether has n callers create a pet each in one commit.
func commitTogether(t *testing.T, s *Store, n int) {
	t.Helper()
	release := occupy(s)
	outcomes := createInTheBackground(t.Context(), s, n)
	synctest.Wait()
	release()
	settle()
	wantCreated(t, s, outcomes)
}

func TestCallersWhoComeBackShareTheNextCommit(t *testing.T) {
	for what, c := range map[string]struct{ before, ended, back int }{
		"ten callers": {10, 10, 9},
		"ten callers, four of whom were late once": {10, 6, 8},
		"two callers": {2, 2, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, path := mustOpen(t)
			commitTogether(t, s, c.before)
			before := transactions(t, path)
			s.committer.queue.batchEnded(c.ended) // as if the commit had ended now
			early := createInTheBackground(t.Context(), s, c.back)
			synctest.Wait()
			if early[0].told {
				t.Errorf("%s, %d of whom are back: got a commit, want it to wait for one more", what, c.back)
			}
			last := createInTheBackground(t.Context(), s, 1)
			synctest.Wait()
			wantCreated(t, s, append(early, last...))
			if got := transactions(t, path) - before; got != 1 {
				t.Errorf("%s: got %d commits, want 1", what, got)
			}
		})
	}
}

func TestCallersWhoDoNotComeBackAreNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		commitTogether(t, s, 10)
		s.committer.queue.batchEnded(10)
		early := createInTheBackground(t.Context(), s, 9)
		settle()
		wantCreated(t, s, early)
	})
}

func TestACallerAloneNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		s.committer.queue.batchEnded(1)
		alone := createInTheBackground(t.Context(), s, 1)
		synctest.Wait()
		wantCreated(t, s, alone)
	})
}

func TestACallerWhoComesLateDoesNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		commitTogether(t, s, 10)
		s.committer.queue.batchEnded(10)
		settle()
		late := createInTheBackground(t.Context(), s, 1)
		synctest.Wait()
		wantCreated(t, s, late)
	})
}
