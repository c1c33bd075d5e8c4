package edge

import (
	"bufio"
	"errors"
	"fmt"
	"go/version"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
)

// TestLimits measures every limit in the table of deploy/README.md. The table has the
// expected values; a test of cmd/petstore compares them with the flags.
func TestLimits(t *testing.T) {
	page, err := os.ReadFile("../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Limits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| [^|]*\|$`).FindAllStringSubmatch(section, -1)
	for _, row := range rows[1:] { // the first has the headings
		test := limits[row[1]]
		if test == nil {
			t.Errorf("%s: got no test of this limit", row[1])
			continue
		}
		t.Run(row[1], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, amounts(row[2])) })
		})
	}
	if len(rows) != 1+len(limits) {
		t.Errorf("deploy/README.md: got %d limits, want the %d that are tested", len(rows)-1, len(limits))
	}
}

var units = map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ms": int64(time.Millisecond), "s": int64(time.Second), "min": int64(time.Minute)}

// amounts returns the numbers, sizes and times in a text.
func amounts(text string) (all []int64) {
	for _, match := range regexp.MustCompile(`([0-9][0-9,]*)(?: (KiB|MiB|ms|s|min)\b)?`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseInt(strings.ReplaceAll(match[1], ",", ""), 10, 64) // digits
		all = append(all, n*units[match[2]])
	}
	return all
}

// limits measure a limit, and compare it with the numbers of its row in the table.
var limits = map[string]func(t *testing.T, want []int64){
	"request header": func(t *testing.T, want []int64) {
		l := listen(t, newHandlers(), nil)
		size, keptSize, release, fields, tooLarge := want[0], want[1], want[2:4], want[4], want[5]
		const short = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
		long := func(size int64) string {
			return strings.Replace(short, "\r\n\r\n", "\r\nX: "+strings.Repeat("x", int(size)-len(short)-len("X: \r\n"))+"\r\n\r\n", 1)
		}
		for size, status := range map[int64]int64{size: 200, size + 1: tooLarge} {
			wantAmount(t, fmt.Sprintf("status of %d bytes", size), roundTrip(l.dial(t), long(size)), status)
		}
		for size, status := range map[int64]int64{size: 200, keptSize + 1: tooLarge} {
			conn := l.dial(t)
			wantAmount(t, "status of a first request", roundTrip(conn, short), 200)
			wantAmount(t, fmt.Sprintf("status of %d bytes on a kept connection", size), roundTrip(conn, long(size)), status)
		}
		most := int64(200)
		if version.Compare(runtime.Version(), fmt.Sprintf("go%d.%d", release[0], release[1])) >= 0 {
			most = tooLarge
		}
		for n, status := range map[int64]int64{fields: 200, fields + 1: most} {
			many := "GET /livez HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: 1\r\n", int(n)-1) + "\r\n"
			wantAmount(t, fmt.Sprintf("status of %d fields", n), roundTrip(l.dial(t), many), status)
		}
	},
	"body": func(t *testing.T, want []int64) {
		l := listen(t, newHandlers(), nil)
		for size, status := range map[int64]int64{want[0]: 201, want[0] + 1: want[1]} {
			body := `{"title":"a"` + strings.Repeat(" ", int(size)-13) + "}"
			got, _ := l.send(t, post(fmt.Sprintf("Content-Length: %d", size))+body)
			wantAmount(t, fmt.Sprintf("status of %d bytes", size), got, status)
			got, _ = l.send(t, post("Transfer-Encoding: chunked")+fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body))
			wantAmount(t, fmt.Sprintf("status of %d bytes, chunked", size), got, status)
		}
	},
	"levels of nesting in a body": func(t *testing.T, want []int64) {
		s, _ := newServer(t, newHandlers(), nil)
		for depth, status := range map[int64]int64{want[0]: 201, want[0] + 1: want[1]} {
			n := int(depth) - 1
			w := do(s, newRequest("POST", "/v1/books", `{"title":"a","x":`+strings.Repeat("[", n)+strings.Repeat("]", n)+"}"))
			wantAmount(t, fmt.Sprintf("status of %d levels", depth), w.Code, status)
		}
	},
	"connections": func(t *testing.T, want []int64) {
		l := listen(t, newHandlers(), nil)
		conns := make([]net.Conn, want[0])
		for i := range conns {
			conns[i] = l.dial(t)
		}
		var accepted atomic.Bool
		go func() {
			l.dial(t)
			accepted.Store(true)
		}()
		synctest.Wait()
		if accepted.Load() {
			t.Errorf("one more connection: got it accepted, want it to wait")
		}
		_ = conns[0].Close()
		synctest.Wait()
		if !accepted.Load() {
			t.Error("one more connection, after another ended: got it waiting, want it accepted")
		}
	},
	"requests in flight": func(t *testing.T, want []int64) {
		var running atomic.Int64
		done := make(chan bool)
		h := newHandlers()
		h["getVersion"] = func(c echo.Context) error {
			running.Add(1)
			<-done
			return sendOK(c)
		}
		s, log := newServer(t, h, nil)
		statuses := make(chan int, 2*want[0])
		for range 2 * want[0] {
			go func() { statuses <- do(s, newRequest("GET", "/v1/version", "")).Code }()
		}
		synctest.Wait()
		wantAmount(t, "running", running.Load(), want[0])
		start := time.Now()
		w := do(s, newRequest("POST", "/v1/books", "not JSON"))
		wantAmount(t, "wait of one more", time.Since(start), 0)
		wantError(t, w, int(want[1]), "unavailable", "the service is unavailable; try again later")
		if got := w.Header().Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After of one more: got %q, want 1", got)
		}
		for range want[0] {
			wantAmount(t, "status of one that waits too long", <-statuses, want[1])
		}
		close(done)
		for range want[0] {
			wantAmount(t, "status of one that runs", <-statuses, 200)
		}
		wantAmount(t, "warnings", strings.Count(log.String(), `"level":"WARN"`), 1+want[0])
		wantAmount(t, "status afterwards", do(s, newRequest("GET", "/v1/version", "")).Code, 200)
		wantAmount(t, "in flight afterwards", s.inFlight.count.Load(), 0)
	},
	"large responses, over 32 KiB": func(t *testing.T, want []int64) { // the name has their size
		total, ofKey, refused := want[0], want[1], want[2]
		size, done := make(chan int64), make(chan bool)
		h := newHandlers()
		h["listBooks"] = func(c echo.Context) error {
			ctx, n := c.Request().Context(), <-size
			if err := errors.Join(Reserve(ctx, n/2), Reserve(ctx, n)); err != nil { // the second replaces the first
				return err
			}
			<-done
			return sendOK(c)
		}
		s, _ := newServer(t, h, nil)
		statuses := make(chan int, 3)
		begin := func(key string, bytes int64) {
			r := newRequest("GET", "/v1/books", "")
			r.Header.Set("Authorization", "Bearer "+key)
			go func() { statuses <- do(s, r).Code }()
			size <- bytes
			synctest.Wait()
		}
		for first, second := range map[int64]int64{
			1 << 40: 0, // one alone may take all
			ofKey:   total - ofKey,
		} {
			begin(testKey, first)
			begin(readKey, second)
			for _, key := range []string{testKey, readKey} {
				begin(key, 32<<10+1)
				wantAmount(t, "status of one more", <-statuses, refused)
			}
			for range 2 {
				done <- true
				wantAmount(t, "status", <-statuses, 200)
			}
		}
		begin(testKey, ofKey)
		begin(testKey, 32<<10+1)
		wantAmount(t, "status of too much for one key", <-statuses, refused)
		begin(readKey, ofKey)
		done <- true
		done <- true
	},
	"requests per second per key": func(t *testing.T, want []int64) {
		s, _ := newServer(t, newHandlers(), func(_ *testService, o *Options) { o.RateLimit = 0.0015 })
		wantStatus := func(key string, want int64) http.Header {
			t.Helper()
			r := newRequest("GET", "/v1/books", "")
			r.Header.Set("Authorization", "Bearer "+key)
			w := do(s, r)
			wantAmount(t, "status", w.Code, want)
			return w.Header()
		}
		wantStatus(testKey, 200)
		if got := wantStatus(testKey, want[0]).Get("Retry-After"); got != "667" {
			t.Errorf("Retry-After: got %q, want 667", got)
		}
		time.Sleep(666 * time.Second)
		wantStatus(readKey, 200) // old keys are forgotten with a request of any key
		wantStatus(testKey, want[0])
		time.Sleep(time.Second)
		wantStatus(testKey, 200)
	},
	"the header must arrive within": func(t *testing.T, want []int64) {
		status, after := listen(t, newHandlers(), nil).send(t, "GET /livez HTTP/1.1\r\n")
		wantAmount(t, "status", status, 0)
		wantTime(t, "time", after, want[0])
	},
	"the whole request within": func(t *testing.T, want []int64) {
		status, after := listen(t, newHandlers(), nil).send(t, post("Content-Length: 20")+"{")
		wantTime(t, "time", after, want[0])
		wantAmount(t, "status", status, want[1])

		// A request that waits for longer to run has still half a second for its body.
		h := newHandlers()
		h["getVersion"] = func(c echo.Context) error {
			time.Sleep(time.Duration(want[0]) + time.Second)
			return sendOK(c)
		}
		l := listen(t, h, func(_ *testService, o *Options) { o.MaxInFlight = 1 })
		go func() { _, _ = l.send(t, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n") }()
		synctest.Wait()
		body := `{"title":"a","x":"` + strings.Repeat("x", 8<<10) + `"}` // more than net/http buffers
		status, _ = l.send(t, post(fmt.Sprintf("Content-Length: %d", len(body)))+body)
		wantAmount(t, "status of one that waited", status, 201)
	},
	"the rest of a body that is not read": func(t *testing.T, want []int64) {
		l := listen(t, newHandlers(), nil)
		for request, status := range map[string]int64{
			"GET /v1/version HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n": 200, // whose document has no body
			strings.Replace(post("Content-Length: 20"), testKey, "wrong", 1):    401,
			strings.Replace(post("Content-Length: 20"), "books", "books?%", 1):  400,
		} {
			conn, start := l.dial(t), time.Now()
			got := roundTrip(conn, request)
			wantAmount(t, "status", got, status)
			_, _ = io.Copy(io.Discard, conn)
			wantTime(t, "time until the connection is closed", time.Since(start), want[0])
		}
	},
	"work on a request": func(t *testing.T, want []int64) {
		h := newHandlers()
		h["getVersion"] = func(c echo.Context) error {
			<-c.Request().Context().Done()
			return sendOK(c)
		}
		_, after := listen(t, h, nil).send(t, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
		wantTime(t, "time", after, want[0])
	},
	"the response must be read within": func(t *testing.T, want []int64) {
		h := newHandlers()
		ended := make(chan error, 1)
		h["getVersion"] = func(c echo.Context) error {
			_, err := c.Response().Write(make([]byte, 1<<20))
			ended <- err
			return err
		}
		conn, start := listen(t, h, nil).dial(t), time.Now()
		_, _ = io.WriteString(conn, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
		if err := <-ended; err == nil {
			t.Error("got a response that was written, want an error")
		}
		wantTime(t, "time", time.Since(start), want[0])
	},
	"an idle connection": func(t *testing.T, want []int64) {
		conn := listen(t, newHandlers(), nil).dial(t)
		wantAmount(t, "status", roundTrip(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"), 200)
		start := time.Now()
		_, _ = io.Copy(io.Discard, conn)
		wantTime(t, "time", time.Since(start), want[0])
	},
	"after SIGTERM": func(t *testing.T, want []int64) {
		h := newHandlers()
		h["getVersion"] = func(c echo.Context) error {
			time.Sleep(time.Hour)
			return sendOK(c)
		}
		l := listen(t, h, nil)
		conn := l.dial(t)
		_, _ = io.WriteString(conn, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
		start := time.Now()
		if err := errors.Join(l.server.drain(t.Context(), time.Duration(want[0]), nil), l.server.stop(l.http, nil)); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, conn)
		wantTime(t, "time until the connection is closed", time.Since(start), want[0]+want[1])
	},
}

// wantAmount compares a number, or a time in nanoseconds.
func wantAmount[N int | int64 | time.Duration](t *testing.T, what string, got N, want int64) {
	t.Helper()
	if int64(got) != want {
		t.Errorf("%s: got %d, want %d", what, got, want)
	}
}

// wantTime checks that something ended after a time limit, and soon after it.
func wantTime(t *testing.T, what string, got time.Duration, want int64) {
	t.Helper()
	if limit := time.Duration(want); got < limit || got > limit+2*time.Second {
		t.Errorf("%s: got %v, want %v, or up to 2 s more", what, got, limit)
	}
}

// listener is a server whose connections are pipes, so that it can live in a bubble
// of synctest.
type listener struct {
	server *Server
	http   *http.Server
	conns  chan net.Conn
}

// listen serves until the test ends.
func listen(t *testing.T, h handlers, change func(*testService, *Options)) *listener {
	t.Helper()
	s, _ := newServer(t, h, change)
	var o ServeOptions
	server, err := s.newHTTPServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{server: s, http: server, conns: make(chan net.Conn)}
	go func() { _ = s.serve(server, l) }()
	t.Cleanup(func() {
		_ = server.Close()
		time.Sleep(2 * time.Hour) // until all goroutines have ended
	})
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	if conn, ok := <-l.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l *listener) Close() error {
	close(l.conns)
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns a connection once the server has accepted it.
func (l *listener) dial(t *testing.T) net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// send sends data on a new connection. It returns the status of the response, 0 if
// there is none, and how long it took.
func (l *listener) send(t *testing.T, data string) (status int, after time.Duration) {
	conn, start := l.dial(t), time.Now()
	return roundTrip(conn, data), time.Since(start)
}

func roundTrip(conn net.Conn, data string) (status int) {
	go func() { _, _ = io.WriteString(conn, data) }()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// post returns the header of a request for addBook.
func post(length string) string {
	return "POST /v1/books HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + testKey + "\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n"
}
