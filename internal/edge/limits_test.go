package edge

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"
)

// TestInFlight checks that as many requests wait as run, for as long as a request may
// take, and that others are refused before anything is said of what they ask. One key
// runs at most three quarters of them, and its others wait in no other key's place.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		done := make(chan struct{})
		s, log := newHandler(t, func(l *library, _ *Options) {
			l.handlers["getBook"] = func(c echo.Context) error {
				running.Add(1)
				<-done
				return sendTitle(c)
			}
		})
		begin := func(key string, n int) <-chan int {
			statuses := make(chan int, n)
			for range n {
				go func() { statuses <- do(s, withKey(get("/v1/books/1"), key)).Code }()
			}
			synctest.Wait() // until they all run or wait
			return statuses
		}
		wantStatuses := func(statuses <-chan int, n, want int) {
			t.Helper()
			for range n {
				if got := <-statuses; got != want {
					t.Errorf("got status %d, want %d", got, want)
				}
			}
		}
		start := time.Now()
		first := begin("first", 384)
		if got := running.Load(); got != 192 {
			t.Errorf("one key: got %d requests that run, want 192", got)
		}
		wantStatuses(begin("first", 1), 1, 503) // does not wait
		second, third := begin("second", 192), begin("third", 128)
		if got := running.Load(); got != 256 {
			t.Errorf("three keys: got %d requests that run, want 256", got)
		}
		for _, r := range []*http.Request{newRequest("POST", "/v1/books?year=x", ""), newRequest("POST", "/v1/books", "not JSON")} {
			w := do(s, withKey(r, "fourth"))
			wantError(t, w, 503, "unavailable", "the service is unavailable; try again later")
			if got := w.Header().Get("Retry-After"); got != "1" {
				t.Errorf("Retry-After: got %q, want 1", got)
			}
		}
		wantStatuses(first, 192, 503)
		wantStatuses(second, 128, 503)
		wantStatuses(third, 128, 503)
		if wait := time.Since(start); wait != 8*time.Second {
			t.Errorf("those that wait: got their 503 after %v, want 8 s", wait)
		}
		firstLater, secondLater := begin("first", 192), begin("second", 128) // in the places that the others have left
		if s.inFlight.entered.TryAcquire(129) || !s.inFlight.entered.TryAcquire(128) {
			t.Error("others instead: want 384 of 512 requests that run or wait")
		}
		s.inFlight.entered.Release(128)
		close(done)
		wantStatuses(first, 192, 200)
		wantStatuses(second, 64, 200)
		wantStatuses(firstLater, 192, 200)
		wantStatuses(secondLater, 128, 200)
		if n := len(s.inFlight.shares); n != 0 || !s.inFlight.entered.TryAcquire(512) || !s.inFlight.running.TryAcquire(256) {
			t.Errorf("afterwards: got requests of %d keys, want none", n)
		}
		if got := strings.Count(log.String(), `"level":"WARN"`); got != 1+2+192+128+128 {
			t.Errorf("log: got %d warnings, want one for each refused request", got)
		}
	})
}

// decoding is a type of bodies, which is called when one is decoded.
type decoding func()

func (d decoding) UnmarshalJSON([]byte) error {
	d()
	return nil
}

// TestDecoding checks that few bodies are decoded at a time, since each may become megabytes,
// and that a request that waits too long for its turn is refused.
func TestDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limit *semaphore.Weighted
		body := decoding(func() {
			if limit.TryAcquire(1) {
				t.Error("more bodies than there are processors can be decoded")
			}
		})
		s, _ := newHandler(t, func(l *library, _ *Options) {
			l.handlers["addBook"] = func(c echo.Context) error {
				if err := c.Bind(&body); err != nil {
					return err
				}
				return c.NoContent(http.StatusOK)
			}
		})
		limit = s.inFlight.decoding
		processors := int64(runtime.GOMAXPROCS(0))
		for others, want := range map[int64]int{processors: 503, processors - 1: 200} {
			limit.TryAcquire(others)
			if got := do(s, newRequest("POST", "/v1/books", `{"title":"a"}`)).Code; got != want {
				t.Errorf("beside %d others: got %d, want %d", others, got, want)
			}
			limit.Release(others)
		}
		if !limit.TryAcquire(processors) {
			t.Error("afterwards: a body is still being decoded")
		}
	})
}

// TestSlowBody checks that a request whose body has not arrived holds no place.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newHandler(t, func(_ *library, o *Options) { o.MaxInFlight = 1 })
		body, send := io.Pipe()
		slow := newRequest("POST", "/v1/books", "{}")
		slow.Body, slow.ContentLength = body, -1
		status := make(chan int)
		go func() { status <- do(s, slow).Code }()
		synctest.Wait()
		if got := do(s, get("/v1/books")).Code; got != 200 || s.inFlight.running.TryAcquire(2) {
			t.Errorf("a request meanwhile: got status %d, want 200 for one at a time", got)
		}
		_, _ = io.WriteString(send, `{"title":"a"}`)
		_ = send.Close()
		if got := <-status; got != 200 {
			t.Errorf("the slow request: got status %d, want 200", got)
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newHandler(t, func(_ *library, o *Options) { o.RateLimit = 0.0015 })
		want := func(path, key, remote string, status int, retry string) {
			t.Helper()
			r := withKey(get(path), key)
			r.RemoteAddr = remote
			w := do(s, r)
			if got := w.Header().Get("Retry-After"); w.Code != status || got != retry {
				t.Errorf("got status %d, Retry-After %q, want %d, %q", w.Code, got, status, retry)
			}
		}
		const list, public, one, other = "/v1/books", "/v1/version", "192.0.2.1:80", "192.0.2.2:80"
		want(list, testKey, one, 200, "")
		want(list, testKey, other, 429, "667")
		time.Sleep(666 * time.Second)
		want(list, readKey, one, 200, "") // old keys are forgotten with a request of any key
		want(list, testKey, one, 429, "667")
		time.Sleep(time.Second)
		want(list, testKey, one, 200, "")

		want(public, testKey, one, 200, "")
		want(public, readKey, one, 429, "667")
		want(public, testKey, other, 200, "")

		s, _ = newHandler(t, func(_ *library, o *Options) { o.RateLimit = 2 })
		want(list, testKey, one, 200, "")
		want(list, testKey, one, 200, "")
		time.Sleep(600 * time.Millisecond)
		want(list, readKey, one, 200, "")
		want(list, testKey, one, 200, "")
		want(list, testKey, one, 429, "1")
	})
}

// TestReady checks what makes a server not ready, and that probes, which need no key, share
// one check, also when the client of the first has left.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks int
		var blocked bool
		var result error
		s, _ := newHandler(t, func(l *library, o *Options) {
			o.LogBlocked = func() bool { return blocked }
			l.ready = func(ctx context.Context) error {
				checks++
				time.Sleep(time.Second)
				return cmp.Or(ctx.Err(), result)
			}
		})
		want := func(status, wantChecks int) {
			t.Helper()
			checks = 0
			statuses := make(chan int)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 3 {
				go func() { statuses <- do(s, get("/readyz").WithContext(ctx)).Code }()
				synctest.Wait()
				cancel()
			}
			for range 3 {
				if got := <-statuses; got != status {
					t.Errorf("got status %d, want %d", got, status)
				}
			}
			if checks != wantChecks {
				t.Errorf("got %d checks, want %d", checks, wantChecks)
			}
		}
		want(200, 1)
		result = io.EOF
		want(503, 1)
		result, blocked = nil, true
		want(503, 0)
		blocked = false
		want(200, 1)
		s.Stopping()
		want(503, 0)
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		s, _ := newHandler(t, func(l *library, _ *Options) {
			l.handlers["getVersion"] = func(c echo.Context) error { return hang(c.Request().Context()) }
			l.ready = hang
		})
		for path, want := range map[string]time.Duration{"/v1/version": 8 * time.Second, "/readyz": 2 * time.Second} {
			start := time.Now()
			do(s, get(path))
			if got := time.Since(start); got != want {
				t.Errorf("%s: got a response after %v, want it after %v", path, got, want)
			}
		}
	})
}
