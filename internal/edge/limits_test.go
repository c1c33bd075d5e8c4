package edge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNoTurn checks that a request that waits too long is refused, and forgotten.
func TestNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newInFlight(1)
		if err := c.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.acquire(ctx); !errors.Is(err, errOverloaded) || c.count.Load() != 1 {
			t.Errorf("got error %v and %d requests, want it refused and 1", err, c.count.Load())
		}
	})
}

// TestOverload checks that a request is refused before its body is read.
func TestOverload(t *testing.T) {
	s, log := newServer(t, newHandlers(), nil)
	s.inFlight.most = 0
	w := do(s, newRequest("POST", "/v1/books", "not JSON"))
	wantError(t, w, 503, "unavailable", "the service is unavailable; try again later")
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: got %q, want 1", got)
	}
	if !strings.Contains(log.String(), `"level":"WARN"`) {
		t.Errorf("log: got %s, want a warning", log)
	}
}

func TestRateLimit(t *testing.T) {
	s, _ := newServer(t, newHandlers(), func(_ *testService, o *Options) { o.RateLimit = 0.3 })
	do(s, newRequest("GET", "/v1/books", ""))
	w := do(s, newRequest("POST", "/v1/books", "not JSON"))
	wantError(t, w, 429, "rate_limited", "too many requests; try again later")
	if got := w.Header().Get("Retry-After"); got != "4" {
		t.Errorf("Retry-After: got %q, want 4", got)
	}
	other := newRequest("GET", "/v1/books", "")
	other.Header.Set("Authorization", "Bearer "+readKey)
	if w := do(s, other); w.Code != http.StatusOK {
		t.Errorf("another key: got %d, want 200", w.Code)
	}
}

// TestSlowRateLimit checks that a key is remembered until its next request is due.
func TestSlowRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, newHandlers(), func(_ *testService, o *Options) { o.RateLimit = 0.001 })
		do(s, newRequest("GET", "/v1/books", ""))
		time.Sleep(999 * time.Second)
		other := newRequest("GET", "/v1/books", "")
		other.Header.Set("Authorization", "Bearer "+readKey)
		do(s, other) // old keys are forgotten with a request of any key
		if w := do(s, newRequest("GET", "/v1/books", "")); w.Code != http.StatusTooManyRequests {
			t.Errorf("a second too early: got %d, want 429", w.Code)
		}
		time.Sleep(time.Second)
		if w := do(s, newRequest("GET", "/v1/books", "")); w.Code != http.StatusOK {
			t.Errorf("in time: got %d, want 200", w.Code)
		}
	})
}
