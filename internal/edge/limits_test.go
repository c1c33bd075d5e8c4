package edge

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
)

func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(1)
		if err := c.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		// One call may wait; another is refused at once.
		outcomes := make(chan error, 1)
		go func() {
			err := c.acquire(t.Context())
			outcomes <- err
			if err == nil {
				c.release(&call{})
			}
		}()
		synctest.Wait()
		start := time.Now()
		if err := c.acquire(t.Context()); !errors.Is(err, errOverloaded) || time.Since(start) != 0 {
			t.Errorf("with one waiting: got error %v after %v, want it refused at once", err, time.Since(start))
		}
		c.release(&call{})
		if err := <-outcomes; err != nil {
			t.Errorf("waiting: got error %v, want a turn", err)
		}
		// A call that does not get its turn is refused.
		if err := c.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer c.release(&call{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.acquire(ctx); !errors.Is(err, errOverloaded) {
			t.Errorf("without a turn: got error %v, want it refused", err)
		}
		if got := c.count.Load(); got != 1 {
			t.Errorf("afterwards: got %d in progress, want 1", got)
		}
	})
}

// TestOverload checks that a request is refused before its body is read, and that
// a slot is held until the response is written.
func TestOverload(t *testing.T) {
	begun, done := make(chan bool), make(chan bool)
	h := newHandlers()
	h["listBooks"] = func(c echo.Context) error {
		begun <- true
		<-done
		return sendOK(c)
	}
	s, log := newServer(t, h, func(_ *testService, o *Options) { o.MaxInFlight = 1 })
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- do(s, newRequest("GET", "/v1/books", "")) }()
	select {
	case <-begun:
	case w := <-first:
		t.Fatalf("the first: got %d, %s, want it to wait", w.Code, w.Body)
	}
	s.calls.most = 1
	w := do(s, newRequest("POST", "/v1/books", "not JSON"))
	wantError(t, w, 503, "unavailable", "the service is unavailable; try again later")
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: got %q, want 1", got)
	}
	if !strings.Contains(log.String(), `"level":"WARN"`) {
		t.Errorf("log: got %s, want a warning", log)
	}
	done <- true
	if w := <-first; w.Code != http.StatusOK {
		t.Errorf("the first: got %d, want 200", w.Code)
	}
	if w := do(s, newRequest("GET", "/v1/books/1", "")); w.Code != http.StatusOK {
		t.Errorf("afterwards: got %d, want 200", w.Code)
	}
}

func TestRateLimit(t *testing.T) {
	s, _ := newServer(t, newHandlers(), func(_ *testService, o *Options) { o.RateLimit = 2 })
	for i, want := range []int{200, 200, 429} {
		if w := do(s, newRequest("GET", "/v1/books", "")); w.Code != want {
			t.Errorf("request %d: got %d, want %d", i+1, w.Code, want)
		}
	}
	w := do(s, newRequest("POST", "/v1/books", "not JSON"))
	wantError(t, w, 429, "rate_limited", "too many requests; try again later")
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: got %q, want 1", got)
	}
	slow, _ := newServer(t, newHandlers(), func(_ *testService, o *Options) { o.RateLimit = 0.3 })
	do(slow, newRequest("GET", "/v1/books", ""))
	if got := do(slow, newRequest("GET", "/v1/books", "")).Header().Get("Retry-After"); got != "4" {
		t.Errorf("Retry-After at 0.3 requests a second: got %q, want 4", got)
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
