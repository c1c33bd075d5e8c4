package edge

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/engine/fault"
	"github.com/labstack/echo/v4"
)

// TestInFlight checks that as many requests may wait as run, until their timeout. More are
// rejected at once, before validation. One key may use at most three quarters of the slots;
// the rest of its requests queue per key.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		done := make(chan struct{})
		s := newServer(t, Options{})
		s.handle = func(c echo.Context) error {
			running.Add(1)
			<-done
			return sendTitle(c)
		}
		// begin sends requests, and returns when they all run or wait. Its result checks n statuses.
		begin := func(key string, requests int) func(n, want int) {
			statuses := make(chan int, requests)
			for range requests {
				go func() { statuses <- s.send("GET /v1/books/1\nAuthorization: Bearer "+key, "").Code }()
			}
			synctest.Wait()
			return func(n, want int) {
				t.Helper()
				for range n {
					got := <-statuses
					assert(t, got == want, "got status %d, want %d", got, want)
				}
			}
		}
		start := time.Now()
		first := begin("first", 384)
		assert(t, running.Load() == 192, "one key: got %d requests that run, want 192", running.Load())
		begin("first", 1)(1, 503) // does not wait
		second, third := begin("second", 192), begin("third", 128)
		assert(t, running.Load() == 256, "three keys: got %d requests that run, want 256", running.Load())
		for _, send := range []string{"GET /v1/books?year=x", "POST /v1/books"} {
			w := s.send(send+"\nAuthorization: Bearer fourth", "not JSON")
			wantError(t, w, fault.Unavailable, "the service is unavailable; try again later")
			retry := w.Header().Get("Retry-After")
			assert(t, retry == "1", "Retry-After: got %q, want 1", retry)
		}
		first(192, 503)
		second(128, 503)
		third(128, 503)
		wait := time.Since(start)
		assert(t, wait == 8*time.Second, "those that wait: got their 503 after %v, want 8 s", wait)
		close(done)
		first(192, 200)
		second(64, 200)
		left := len(s.inFlight.shares) == 0 && s.inFlight.admitted.TryAcquire(512) && s.inFlight.running.TryAcquire(256)
		assert(t, left, "afterwards: got requests of %d keys, want none", len(s.inFlight.shares))
		s.wantMetric(t, "requests_shed_total{reason=\"in_flight\"} 451\nrequests_shed_total{reason=\"rate\"} 0")
		warnings := strings.Count(s.log.String(), `"level":"WARN"`)
		assert(t, warnings == 1+2+192+128+128, "log: got %d warnings, want one for each rejected request", warnings)
	})
}

// TestDecoding checks that few bodies are decoded at a time, since each may become megabytes,
// and that a request that waits too long for its turn is rejected.
func TestDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Options{Timeout: 3 * time.Second})
		limit, processors := s.inFlight.decoding, int64(runtime.GOMAXPROCS(0))
		for others, want := range map[int64]string{processors: "503 after 3s", processors - 1: "200 after 0s"} {
			limit.TryAcquire(others)
			start := time.Now()
			code := s.send("POST /v1/books", `{"title":"a"}`).Code
			got := fmt.Sprint(code, " after ", time.Since(start))
			assert(t, got == want, "%d other bodies: got %s, want %s", others, got, want)
			limit.Release(others)
		}
		assert(t, limit.TryAcquire(processors), "afterwards: a body is still being decoded")
		assert(t, strings.Contains(s.log.String(), `"duration_us":3000000,`), "log: got %s, want a line with 3 s", s.log.String())
	})
}

// TestSlowBody checks that a request takes no slot before its body has arrived.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Options{MaxInFlight: 1})
		body, send := io.Pipe()
		status := make(chan int)
		go func() {
			r := newRequest("POST /v1/books", "{}")
			r.Body, r.ContentLength = body, -1
			status <- do(s, r).Code
		}()
		synctest.Wait()
		got := s.send("GET /v1/books", "").Code
		assert(t, got == 200 && !s.inFlight.running.TryAcquire(2),
			"a request meanwhile: got status %d, want 200 for one at a time", got)
		_, _ = io.WriteString(send, `{"title":"a"}`)
		_ = send.Close()
		got = <-status
		assert(t, got == 200, "the slow request: got status %d, want 200", got)
	})
}

// TestRateLimit checks that requests are limited by key or, without one, by address.
func TestRateLimit(t *testing.T) {
	const list, add, public, one, other = "GET /v1/books", "POST /v1/books", "GET /v1/version", "192.0.2.1", "192.0.2.2"
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Options{RateLimit: 0.3})
		for _, test := range []struct {
			wait               time.Duration
			send, key, address string
			want               string // the status and Retry-After
		}{
			{0, list, "a", one, "200"},
			{0, list, "a", other, "429 4"},
			{0, list, "b", one, "200"},
			{3300 * time.Millisecond, list, "a", one, "429 4"},
			{100 * time.Millisecond, list, "a", one, "200"},
			{0, add, readKey, one, "403"},
			{0, add, readKey, one, "429 4"},
			{0, public, "a", one, "200"},
			{0, public, "b", one, "429 4"},
			{0, public, "a", other, "200"},
		} {
			time.Sleep(test.wait)
			r := newRequest(test.send+"\nAuthorization: Bearer "+test.key, "")
			r.RemoteAddr = test.address + ":80"
			w := do(s, r)
			got := strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Header().Get("Retry-After")))
			assert(t, got == test.want, "%+v: got %s", test, got)
		}
		s.wantMetric(t, `requests_shed_total{reason="rate"} 4`)
	})
}

// TestReady checks what makes a server not ready, and that probes share one check, even if the
// client of the first leaves.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks int
		var blocked bool
		var result error
		takes := time.Second
		s := newServer(t, Options{LogBlocked: func() bool { return blocked }})
		s.isReady = func(ctx context.Context) error {
			checks++
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(takes):
				return result
			}
		}
		want := func(want string) {
			t.Helper()
			checks = 0
			start, statuses := time.Now(), make(chan int)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 3 {
				go func() { statuses <- do(s, newRequest("GET /readyz", "").WithContext(ctx)).Code }()
				synctest.Wait()
				cancel()
			}
			for range 3 {
				got := fmt.Sprintf("%d after %v, checks: %d", <-statuses, time.Since(start), checks)
				assert(t, got == want, "got %s, want %s", got, want)
			}
		}
		want("200 after 1s, checks: 1")
		result = io.EOF
		want("503 after 1s, checks: 1")
		result, blocked = nil, true
		want("503 after 0s, checks: 0")
		blocked, takes = false, time.Hour
		want("503 after 2s, checks: 1")
		s.Stopping()
		want("503 after 0s, checks: 0")
		got := s.send("GET /v1/books", "").Header().Get("Connection")
		assert(t, got == "close", "Connection while stopping: got %q, want close", got)
	})
}
