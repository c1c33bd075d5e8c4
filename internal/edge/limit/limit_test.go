package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallsBeyondTheQueueAreRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCalls(2, 1)
		for i := range 2 {
			if err := c.Begin(t.Context()); err != nil {
				t.Fatalf("call %d of 2: got %v, want a place", i, err)
			}
		}
		if err := c.CheckRoom(); err != nil {
			t.Errorf("with an empty queue: got %v, want room", err)
		}
		waited := make(chan error)
		go func() { waited <- c.Begin(t.Context()) }()
		synctest.Wait()
		for name, err := range map[string]error{"CheckRoom": c.CheckRoom(), "Begin": c.Begin(t.Context())} {
			if !errors.Is(err, ErrFull) {
				t.Errorf("%s with a full queue: got %v, want ErrFull", name, err)
			}
		}
		if got, want := c.Stats(), (CallStats{UnderWay: 2, Waiting: 1, Most: 2, Refused: 2}); got != want {
			t.Errorf("Stats: got %+v, want %+v", got, want)
		}
		c.End()
		if err := <-waited; err != nil {
			t.Errorf("the call that waited: got %v, want a place", err)
		}
		if got, want := c.Stats(), (CallStats{UnderWay: 2, Most: 2, Refused: 2}); got != want {
			t.Errorf("Stats: got %+v, want %+v", got, want)
		}
	})
}

func TestACallDoesNotWaitPastItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCalls(1, 1)
		if err := c.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Begin: got %v, want the context's error", err)
		}
		if got := c.Stats().Waiting; got != 0 {
			t.Errorf("waiting: got %d, want none", got)
		}
	})
}

func TestAKeyMayMakeItsRequestsOfASecondAndNoMore(t *testing.T) {
	t.Parallel()
	r, now := NewRates(3), time.Now()
	for i := range 3 {
		if wait, ok := r.Allow("a", now); !ok {
			t.Errorf("request %d of 3 a second: got a wait of %v, want it allowed", i, wait)
		}
	}
	if wait, ok := r.Allow("a", now); ok || wait <= 0 || wait > time.Second/3 {
		t.Errorf("the fourth: got %v, %t, want a wait of a third of a second", wait, ok)
	}
	if _, ok := r.Allow("b", now); !ok {
		t.Error("another key: got it refused, want it allowed")
	}
	if _, ok := r.Allow("a", now.Add(time.Second/3+time.Millisecond)); !ok {
		t.Error("after a third of a second: got it refused, want it allowed")
	}
	if got := r.Refused(); got != 1 {
		t.Errorf("Refused: got %d, want 1", got)
	}
}

func TestRefusalsCostAKeyNothing(t *testing.T) {
	t.Parallel()
	const perSecond = 5
	r, now := NewRates(perSecond), time.Now()
	for range perSecond {
		r.Allow("a", now)
	}
	var refused sync.WaitGroup
	for range 8 {
		refused.Go(func() {
			for range 20_000 {
				r.Allow("a", now)
			}
		})
	}
	refused.Wait()
	now = now.Add(time.Second)
	for i := range perSecond {
		if wait, ok := r.Allow("a", now); !ok {
			t.Fatalf("request %d of %d, a second later: got a wait of %v, want it allowed", i, perSecond, wait)
		}
	}
}

func TestRatesForgetSilentKeysFirst(t *testing.T) {
	t.Parallel()
	r, now := NewRates(0.5), time.Now()
	for i := range maxRatedKeys - 1 {
		r.Allow(fmt.Sprint(i), now)
	}
	now = now.Add(time.Hour)
	r.Allow("busy", now)
	r.Allow("new", now)
	if got := len(r.keys); got != 2 {
		t.Errorf("keys: got %d, want the 2 that were not silent", got)
	}
	if _, ok := r.Allow("busy", now); ok {
		t.Error("a key that has spent its second: got it forgotten, want it refused")
	}
	for i := range maxRatedKeys + 1 {
		r.Allow(fmt.Sprint("x", i), now)
	}
	if got := len(r.keys); got > maxRatedKeys {
		t.Errorf("keys: got %d, want at most %d", got, maxRatedKeys)
	}
}

func TestNoKeyHoldsMoreThanAQuarterOfTheBudget(t *testing.T) {
	t.Parallel()
	b := NewBudget(100)
	for i, take := range []struct {
		key  string
		n    int64
		want error
	}{
		{"a", 26, ErrTooLarge},
		{"a", 20, nil},
		{"a", 6, ErrSpent},
		{"a", 5, nil},
		{"b", 25, nil},
		{"c", 25, nil},
		{"d", 24, nil},
		{"e", 2, ErrSpent},
		{"e", 1, nil},
	} {
		if err := b.Take(take.key, take.n); !errors.Is(err, take.want) {
			t.Errorf("step %d, %d bytes for %s: got %v, want %v", i, take.n, take.key, err, take.want)
		}
	}
	b.Give("a", 25)
	if err := b.Take("a", 25); err != nil {
		t.Errorf("after all was given back: got %v, want it taken", err)
	}
	if got, want := b.Stats(), (BudgetStats{Held: 100, Most: 100, Refused: 3}); got != want {
		t.Errorf("Stats: got %+v, want %+v", got, want)
	}
	for key, n := range map[string]int64{"a": 25, "b": 25, "c": 25, "d": 24, "e": 1} {
		b.Give(key, n)
	}
	if len(b.byKey) != 0 || b.held != 0 {
		t.Errorf("in the end: got %d bytes of %d keys held, want none", b.held, len(b.byKey))
	}
}

func TestWhatIsNilBoundsNothing(t *testing.T) {
	t.Parallel()
	var c *Calls
	var r *Rates
	var b *Budget
	_, allowed := r.Allow("a", time.Now())
	if err := errors.Join(c.CheckRoom(), c.Begin(t.Context()), b.Take("a", 1<<40)); err != nil || !allowed {
		t.Errorf("got %v, allowed %t, want everything allowed", err, allowed)
	}
	c.End()
	b.Give("a", 1<<40)
	if c.Stats() != (CallStats{}) || b.Stats() != (BudgetStats{}) || r.Refused() != 0 {
		t.Error("Stats: got some, want none")
	}
}

func TestRowsBeyondTheBoundWaitUntilOthersAreGivenBack(t *testing.T) {
	t.Parallel()
	r := NewRows(100)
	if err := r.Begin(t.Context(), "a", 60); err != nil {
		t.Fatalf("60 of 100 rows: got %v, want nil", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Begin(ended, "a", 60); !errors.Is(err, context.Canceled) {
		t.Errorf("60 more, of a caller that has left: got %v, want %v", err, context.Canceled)
	}
	r.End(60)
	if err := r.Begin(t.Context(), "a", 100); err != nil {
		t.Errorf("all of them, once they were given back: got %v, want nil", err)
	}
	r.End(100)
	var none *Rows
	if err := none.Begin(t.Context(), "a", 1000); err != nil {
		t.Errorf("without a bound: got %v, want nil", err)
	}
	none.End(1000)
}

func TestAKeyWithManyCallsForRowsDelaysOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRows(100)
		var mu sync.Mutex
		var begun []string
		call := func(ctx context.Context, key string, n int64) {
			go func() {
				if r.Begin(ctx, key, n) == nil {
					mu.Lock()
					begun = append(begun, key)
					mu.Unlock()
					time.Sleep(time.Second)
					r.End(n)
				}
			}()
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		call(t.Context(), "many", 100)
		call(t.Context(), "many", 100)
		call(t.Context(), "many", 100)
		call(leaving, "leaving", 100)
		call(t.Context(), "few", 1)
		leave()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if got, want := fmt.Sprint(begun), "[many many few many]"; got != want {
			t.Errorf("calls began in the order %s, want %s", got, want)
		}
		if r.asked != 0 || len(r.queues) != 0 {
			t.Errorf("in the end: got %d rows asked and %d keys waiting, want none", r.asked, len(r.queues))
		}
	})
}
