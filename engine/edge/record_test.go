package edge

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
)

// TestLog checks the line of a request. It has no query, header or body, and no characters that
// move a cursor or change the direction of text.
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
		assert(t, strings.Count(line, "\n") == 1, "%s: got %s, want one line", c.send, line)
		for text := range strings.FieldsSeq(c.has) {
			assert(t, strings.Contains(line, text), "%s: got %s, want %s in it", c.send, line, text)
		}
		for text := range strings.FieldsSeq(c.lacks) {
			assert(t, !strings.Contains(line, text), "%s: got %s, want no %s in it", c.send, line, text)
		}
	}
}

// TestMetrics checks the metrics of requests. Their time includes the wait for the log.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, w := io.Pipe()
		lines := bufio.NewScanner(log)
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
			lines.Scan()
			synctest.Wait()
			s.wantMetric(t, want)
		}
	})
}

// TestIncompleteResponse checks that a response that fails halfway ends the connection, and is
// logged as an error unless the client has left.
func TestIncompleteResponse(t *testing.T) {
	for level, left := range map[string]bool{"ERROR": false, "INFO": true} {
		s := newServer(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		s.handle = func(c echo.Context) error {
			_, err := c.Response().Write([]byte("half"))
			if left {
				cancel()
			}
			return errors.Join(err, errors.New("no file"))
		}
		func() {
			defer func() { _ = recover() }()
			do(s, newRequest("GET /v1/version", "").WithContext(ctx))
			t.Error("got no panic, which ends the connection")
		}()
		cancel()
		assert(t, strings.Contains(s.log.String(), `"level":"`+level), "log: got %s, want %s", &s.log, level)
	}
}
