package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
)

// TestLog checks the line of a request, without its query, header and body, and without control characters.
func TestLog(t *testing.T) {
	s := newServer(t, Options{TrustedProxies: []net.IPNet{{IP: net.IPv4(192, 0, 2, 0), Mask: net.CIDRMask(24, 32)}}})
	s.isReady = func(context.Context) error { return errors.New("away") }
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	const trace = "\nTraceparent: 00-" + traceID + "-00f067aa0ba902b7-01"
	for _, c := range []struct{ send, has, lacks string }{
		{
			"PUT /v1/notes/%7F%C2%9B%E2%80%AE/text?api_key=secret\nX-Request-Id: the-id\nX-Forwarded-For: 203.0.113.9, 198.51.100.7\nCookie: secret",
			`"level":"INFO" "msg":"request" "method":"PUT" "route":"/v1/notes/:name/text" "path":"/v1/notes/%7F%C2%9B%E2%80%AE/text" ` +
				`"status":200 "bytes":26 "request_id":"the-id" "remote":"198.51.100.7" "key":"` + testKey + `"`,
			`sec" secret "trace_id" "reason" "error"`,
		},
		{"GET http://books.example", `"path":"/"`, ""},
		{"GET /key%5F%2F" + strings.Repeat("x", 900), `"path":"/key_/` + strings.Repeat("x", 900) + `"`, ""}, // so it can be hidden
		{"GET /livez", `"level":"DEBUG" "status":200 "key":""`, `"error"`},
		{"GET /readyz", `"level":"WARN" "status":503 "key":"" "error":"away"`, ""},
		{"GET /v1/books?limit=0", `"level":"INFO" "status":400 "key":"` + testKey + `"`, `"reason" "error"`},
		{"GET /v1/books\nAuthorization: Bearer " + oldKey, `"level":"INFO" "status":401 "key":"` + oldKey + `" "reason":"expired"`, `"error"`},
		{"GET /v1/books\nAuthorization: Bearer " + brokeKey, `"level":"ERROR" "status":503 "key":"" "error":"no`, ""},
		{"GET /v1/books" + trace, `"trace_id":"` + traceID + `"`, ""},
		{"GET /v1/books" + trace + "-later", "", "trace_id"},
		{"GET /v1/books" + strings.Replace(trace, "00-", "x00-", 1), "", "trace_id"},
		{"GET /v1/books" + strings.ToUpper(trace), "", "trace_id"},
		{"GET /v1/books" + trace + trace, "", "trace_id"},
	} {
		s.log.Reset()
		s.send(c.send, `{"title":"sec"}`)
		line := s.log.String()
		assert.Equal(t, 1, strings.Count(line, "\n"), "%s: lines of %s", c.send, line)
		for text := range strings.FieldsSeq(c.has) {
			assert.Contains(t, line, text, c.send)
		}
		for text := range strings.FieldsSeq(c.lacks) {
			assert.NotContains(t, line, text, c.send)
		}
	}
}

// TestMetrics checks the metrics of requests. Their time includes the wait for the log.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, w := io.Pipe()
		s := newServer(t, Options{Logger: slog.New(slog.NewJSONHandler(w, nil))})
		s.isReady = func(context.Context) error { return errors.New("away") }
		for path, want := range map[string]string{
			"/v1/books":         `bucket{operation="listBooks",status="200",le="8"} 1`,
			"/v1/books?limit=0": `sum{operation="listBooks",status="400"} 1`,
			"/nowhere":          `sum{operation="unknown",status="404"} 1`,
			"/readyz":           "\nready 0",
		} {
			go s.send("GET "+path, "")
			time.Sleep(time.Second)
			s.wantMetric(t, "http_requests_in_flight 1")
			_, _ = log.Read(make([]byte, 4<<10)) // the line
			synctest.Wait()
			s.wantMetric(t, want)
		}
	})
}

// TestIncompleteResponse checks that a response that fails halfway ends the connection and, unless the client
// has left, is an error in the log.
func TestIncompleteResponse(t *testing.T) {
	for level, left := range map[string]bool{"ERROR": false, "INFO": true} {
		s := newServer(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		s.handle = func(c echo.Context) error {
			if left {
				cancel()
			}
			return errors.Join(c.String(200, "half"), errors.New("no file"))
		}
		r := newRequest("GET /v1/version", "").WithContext(ctx)
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() { do(s, r) }, "%s: to end the connection", level)
		assert.Contains(t, s.log.String(), `"level":"`+level)
	}
}

// TestInFlight checks that as many requests may wait as run, until their timeout, and more are rejected before
// validation. One key may use at most three quarters of the slots; the rest of its requests queue per key.
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
				for range n {
					assert.Equal(t, want, <-statuses, "status of a request with the key %s", key)
				}
			}
		}
		start := time.Now()
		first := begin("first", 384)
		assert.EqualValues(t, 192, running.Load(), "requests of one key that run")
		begin("first", 1)(1, 503) // does not wait
		second, third := begin("second", 192), begin("third", 128)
		assert.EqualValues(t, 256, running.Load(), "requests of three keys that run")
		for _, send := range []string{"GET /v1/books?year=x", "POST /v1/books"} {
			w := s.send(send+"\nAuthorization: Bearer fourth", "not JSON")
			assert.Equal(t, 503, w.Code, send)
			assert.Equal(t, "1", w.Header().Get("Retry-After"), send)
			assert.Contains(t, w.Body.String(), `"the service is unavailable; try again later"`, send)
		}
		first(192, 503)
		second(128, 503)
		third(128, 503)
		assert.Equal(t, 8*time.Second, time.Since(start), "until those that wait got their 503")
		close(done)
		first(192, 200)
		second(64, 200)
		assert.Empty(t, s.inFlight.shares, "afterwards")
		assert.True(t, s.inFlight.admitted.TryAcquire(512) && s.inFlight.running.TryAcquire(256), "afterwards")
		s.wantMetric(t, "requests_shed_total{reason=\"in_flight\"} 451\nrequests_shed_total{reason=\"rate\"} 0")
		assert.Equal(t, 451, strings.Count(s.log.String(), `"level":"WARN"`), "warnings: one for each rejected request")
	})
}

// TestDecoding checks that few bodies are decoded at a time, since each may become megabytes.
func TestDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Options{Timeout: 3 * time.Second})
		limit, processors := s.inFlight.decoding, int64(runtime.GOMAXPROCS(0))
		for others, want := range map[int64]string{processors: "503 after 3s", processors - 1: "200 after 0s"} {
			limit.TryAcquire(others)
			start := time.Now()
			got := fmt.Sprint(s.send("POST /v1/books", `{"title":"a"}`).Code, " after ", time.Since(start))
			assert.Equal(t, want, got, "beside %d other bodies", others)
			limit.Release(others)
		}
		assert.True(t, limit.TryAcquire(processors), "afterwards: a body is still being decoded")
		assert.Contains(t, s.log.String(), `"duration_us":3000000,`)
	})
}

// TestSlowBody checks that a request takes no slot before its body has arrived.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Options{MaxInFlight: 1})
		body, send := io.Pipe()
		r := newRequest("POST /v1/books", "{}")
		r.Body, r.ContentLength = body, -1
		status := make(chan int)
		go func() { status <- do(s, r).Code }()
		synctest.Wait()
		assert.Equal(t, 200, s.send("GET /v1/books", "").Code, "a request meanwhile")
		assert.False(t, s.inFlight.running.TryAcquire(2), "two requests may run, want one at a time")
		_, _ = io.WriteString(send, `{"title":"a"}`)
		_ = send.Close()
		assert.Equal(t, 200, <-status, "the slow request")
	})
}

// TestRateLimit checks that requests are limited by key or, without one, by address.
func TestRateLimit(t *testing.T) {
	const list, add, public, one, other = "GET /v1/books", "POST /v1/books", "GET /v1/version", "192.0.2.1", "192.0.2.2"
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Options{RateLimit: 0.3})
		for _, test := range []struct {
			wait                     time.Duration
			send, key, address, want string // want is the status and Retry-After
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
			assert.Equal(t, test.want, got, test)
		}
		s.wantMetric(t, `requests_shed_total{reason="rate"} 4`)
	})
}

// TestReady checks when a server is not ready, and that probes share a check, even if the first client leaves.
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
				assert.Equal(t, want, fmt.Sprintf("%d after %v, checks: %d", <-statuses, time.Since(start), checks))
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
		assert.Equal(t, "close", s.send("GET /v1/books", "").Header().Get("Connection"), "while stopping")
	})
}
