package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/pets"
)

// These tests run in bubbles of testing/synctest. synctest.Wait returns once every
// caller waits for the committer and the committer for the test. So the jobs that
// share a transaction are not a matter of luck.

func TestWritesThatWaitShareOneCommit(t *testing.T) {
	for _, c := range []struct{ waiting, commits int }{
		{1, 1},
		{100, 1},
		{maxBatch, 1},
		{maxBatch + 1, 2},
		{3 * maxBatch, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, path := mustOpen(t)
			before := transactions(t, path)
			release := occupy(s)
			outcomes := createInTheBackground(t.Context(), s, c.waiting)
			synctest.Wait()
			release()
			settle()
			wantCreated(t, s, outcomes)
			if got := transactions(t, path) - before; got != c.commits {
				t.Errorf("%d creates: got %d commits, want %d", c.waiting, got, c.commits)
			}
		})
	}
}

func TestNothingIsAcknowledgedBeforeItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		release := occupy(s)
		outcomes := createInTheBackground(t.Context(), s, 5)
		synctest.Wait()
		// Last in the same batch, so the pets are inserted and not committed.
		last := make(chan struct{})
		go func() {
			_ = s.committer.write(context.Background(), func(*writer) error { <-last; return nil })
		}()
		synctest.Wait()
		release()
		settle()
		for i, o := range outcomes {
			if o.told {
				t.Errorf("caller %d before the commit: got told %v, %v, want it waiting", i, o.pet, o.err)
			}
		}
		if n := countPets(t, s); n != 0 {
			t.Errorf("before the commit: got %d pets visible, want 0", n)
		}
		close(last)
		synctest.Wait()
		wantCreated(t, s, outcomes)
	})
}

func TestAConstraintFailsAloneInItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, path := mustOpen(t)
		k := pets.Key{ID: "taken", Name: "someone", CreatedAt: time.Now()}
		if err := s.CreateKey(t.Context(), k); err != nil {
			t.Fatalf("storing a key: got error %v", err)
		}
		before := transactions(t, path)
		release := occupy(s)
		earlier := createInTheBackground(t.Context(), s, 10)
		synctest.Wait()
		var keyErr error
		go func() { keyErr = s.CreateKey(context.Background(), k) }()
		synctest.Wait()
		later := createInTheBackground(t.Context(), s, 10)
		synctest.Wait()
		release()
		settle()
		if keyErr == nil || pets.KindOf(keyErr) != pets.Internal {
			t.Errorf("the second key: got error %v, want internal", keyErr)
		}
		wantCreated(t, s, append(earlier, later...))
		if got := transactions(t, path) - before; got != 1 {
			t.Errorf("got %d commits, want 1", got)
		}
	})
}

// A COMMIT is made to fail by a foreign key that is checked only then.
func TestAFailedCommitIsToldToAllInItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		release := occupy(s)
		outcomes := createInTheBackground(t.Context(), s, 5)
		synctest.Wait()
		go func() {
			_ = s.committer.write(context.Background(), func(w *writer) error {
				_, err := w.conn.ExecContext(context.Background(), `
					CREATE TABLE mothers (id INTEGER PRIMARY KEY);
					CREATE TABLE kittens (mother INTEGER REFERENCES mothers DEFERRABLE INITIALLY DEFERRED);
					INSERT INTO kittens VALUES (1)`)
				return err
			})
		}()
		synctest.Wait()
		release()
		settle()
		wantAllUndone(t, s, outcomes)
	})
}

// wantAllUndone wants every caller to have been told of an error and no pet to
// be there, and the next batch to go through.
func wantAllUndone(t *testing.T, s *Store, outcomes []*outcome) {
	t.Helper()
	for i, o := range outcomes {
		if !o.told || o.err == nil {
			t.Errorf("caller %d: got %v (told %v), want an error", i, o.pet, o.told)
		}
	}
	if n := countPets(t, s); n != 0 {
		t.Errorf("got %d pets, want 0", n)
	}
	outcomes = createInTheBackground(t.Context(), s, 5)
	settle()
	wantCreated(t, s, outcomes)
}

func TestAnErrorThatIsNoConstraintUndoesItsBatchOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		release := occupy(s)
		outcomes := createInTheBackground(t.Context(), s, 5)
		synctest.Wait()
		broken := errors.New("broken")
		var got error
		go func() {
			got = s.committer.write(context.Background(), func(*writer) error { return broken })
		}()
		synctest.Wait()
		release()
		settle()
		if !errors.Is(got, broken) {
			t.Errorf("the broken write: got error %v, want %v", got, broken)
		}
		wantAllUndone(t, s, outcomes)
	})
}

func TestACallerWhoLeavesWhileWaitingIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, path := mustOpen(t)
		before := transactions(t, path)
		release := occupy(s)
		ctx, leave := context.WithCancel(t.Context())
		leaving := createInTheBackground(ctx, s, 2*maxBatch+10) // more than the queue holds
		time.Sleep(patience)
		leave()
		synctest.Wait()
		for i, o := range leaving {
			if !o.told || pets.KindOf(o.err) != pets.Unavailable {
				t.Errorf("caller %d, who left: got error %v (told %v), want unavailable soon", i, o.err, o.told)
			}
		}
		staying := createInTheBackground(t.Context(), s, 5)
		synctest.Wait()
		release()
		settle()
		wantCreated(t, s, staying)
		if n := countPets(t, s); n != len(staying) {
			t.Errorf("got %d pets, want %d: those of the callers who stayed", n, len(staying))
		}
		if got := transactions(t, path) - before; got != 1 {
			t.Errorf("got %d commits, want 1", got)
		}
	})
}

func TestACallerWhoLeavesDuringTheWriteIsToldItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		release := occupy(s)
		ctx, leave := context.WithCancel(t.Context())
		leaving := createInTheBackground(ctx, s, 1)
		synctest.Wait()
		neighbours := createInTheBackground(t.Context(), s, 5)
		last := make(chan struct{})
		synctest.Wait()
		go func() {
			_ = s.committer.write(context.Background(), func(*writer) error { <-last; return nil })
		}()
		synctest.Wait()
		release()
		settle()
		leave()
		synctest.Wait()
		if leaving[0].told {
			t.Errorf("during the write: got told %v, %v, want it waiting for the outcome", leaving[0].pet, leaving[0].err)
		}
		close(last)
		synctest.Wait()
		wantCreated(t, s, append(leaving, neighbours...))
	})
}

func TestClosingFinishesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, path := mustOpen(t)
		release := occupy(s)
		waiting := createInTheBackground(t.Context(), s, 2*maxBatch) // all that the queue holds
		synctest.Wait()
		late := createInTheBackground(t.Context(), s, 5)
		synctest.Wait()
		var closeErr error
		go func() { closeErr = s.Close() }()
		synctest.Wait()
		late = append(late, createInTheBackground(t.Context(), s, 5)...)
		synctest.Wait()
		for i, o := range late {
			if !o.told || pets.KindOf(o.err) != pets.Unavailable {
				t.Errorf("late caller %d: got error %v (told %v), want unavailable", i, o.err, o.told)
			}
		}
		release()
		settle()
		if closeErr != nil {
			t.Errorf("closing: got error %v, want nil", closeErr)
		}
		again, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatalf("reopening: got error %v", err)
		}
		defer again.Close()
		wantCreated(t, again, waiting)
	})
}

// The statement for all of them breaks the rule for identifiers, which some of
// its pets would have kept.
func TestOnlyThePetsForWhichThereIsNoIdentifierFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		if _, err := s.CreatePet(t.Context(), newPet("first")); err != nil {
			t.Fatalf("creating: got error %v", err)
		}
		byHandOn(t, s, fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d WHERE name = 'pets'", pets.MaxID-3))
		release := occupy(s)
		outcomes := createInTheBackground(t.Context(), s, 10)
		synctest.Wait()
		release()
		settle()
		var created []*outcome
		for i, o := range outcomes {
			if o.err == nil {
				created = append(created, o)
			} else if pets.KindOf(o.err) != pets.Internal {
				t.Errorf("caller %d: got error %v, want internal", i, o.err)
			}
		}
		wantCreated(t, s, created)
		if len(created) != 3 {
			t.Errorf("got %d pets created, want the last 3 there are identifiers for", len(created))
		}
	})
}
