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
	synctest.Test(t, func(t *testing.T) {
		s, path := mustOpen(t)
		commitTogether(t, s, 10)
		before := transactions(t, path)
		s.committer.queue.batchEnded(10) // as if the commit had ended now
		early := createInTheBackground(t.Context(), s, 9)
		synctest.Wait()
		if early[0].told {
			t.Errorf("nine of ten callers are back: got a commit, want it to wait for the tenth")
		}
		last := createInTheBackground(t.Context(), s, 1)
		synctest.Wait()
		wantCreated(t, s, append(early, last...))
		if got := transactions(t, path) - before; got != 1 {
			t.Errorf("got %d commits, want 1", got)
		}
	})
}

func TestCallersWhoWereLateOnceAreWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		commitTogether(t, s, 10)
		s.committer.queue.batchEnded(6) // as if four of them were late
		early := createInTheBackground(t.Context(), s, 8)
		synctest.Wait()
		if early[0].told {
			t.Errorf("eight of ten callers are back: got a commit, want it to wait for the ninth")
		}
		last := createInTheBackground(t.Context(), s, 1)
		synctest.Wait()
		wantCreated(t, s, append(early, last...))
	})
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
