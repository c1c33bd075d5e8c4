package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// testHandler serves paths that are named for what they do, and all others with 200.
type testHandler struct {
	running chan struct{} // receives a value for each request to /hang, and when /large has ended
	done    chan struct{} // ends requests to /hang
}

func (h *testHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/hang":
		h.running <- struct{}{}
		<-h.done
	case "/read":
		if _, err := io.ReadAll(r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	case "/refuse": // without reading the body, which needs Connection: close
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusUnauthorized)
	case "/hijack":
		conn, _, _ := http.NewResponseController(w).Hijack()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
	case "/large":
		_, _ = w.Write(make([]byte, 1<<20))
		h.running <- struct{}{}
	}
}

func newServer(o Options) (*Server, *testHandler) {
	h := &testHandler{make(chan struct{}, 1), make(chan struct{})}
	o.Handler = h
	return must(New(o)), h
}

// must returns v, and panics if there is an error, which no test expects there.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// running is a server in a bubble of synctest, whose connections are pipes.
type running struct {
	*testing.T
	handler              *testHandler
	conns, others, admin pipes // others is a second listener
	begin                time.Time
	cancel               context.CancelCauseFunc
	failed, ended        chan error
}

// limit fails a test that hangs, unless it is stopped.
func limit(t *testing.T) *time.Timer {
	return time.AfterFunc(10*time.Second, func() { panic(t.Name() + " hangs") })
}

// inBubble calls f with a running server.
func inBubble(t *testing.T, o Options, f func(s *running)) {
	defer limit(t).Stop()
	synctest.Test(t, func(t *testing.T) {
		conns, others, admin, failed := newPipes(), newPipes(), newPipes(), make(chan error)
		o.Listeners, o.Admin, o.Failed = []net.Listener{conns, others}, admin, failed
		s, h := newServer(o)
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &running{t, h, conns, others, admin, time.Now(), cancel, failed, make(chan error, 1)}
		go func() { r.ended <- s.Run(ctx) }()
		f(r)
		cancel(nil)
		time.Sleep(time.Hour) // until all goroutines have ended
	})
}

// pipes is a listener. It closes as slowly as a Unix socket.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	time.Sleep(arrivalTime)
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns a connection once the server has accepted it.
func (s *running) dial(listener pipes) net.Conn {
	client, server := net.Pipe()
	listener.conns <- server
	s.Cleanup(func() { _ = client.Close() })
	return client
}

func (s *running) get(path string) http.Response {
	return roundTrip(s.dial(s.conns), request("GET "+path))
}

// wantEnd checks after what time and with which error, or nil, the server ends.
func (s *running) wantEnd(after time.Duration, want any) {
	assert.Equal(s, fmt.Sprint(want), fmt.Sprint(<-s.ended), "the end")
	s.wantTime(after)
}

// wantTime checks how long the server has run. net/http waits before it closes a connection.
func (s *running) wantTime(want time.Duration) {
	got := time.Since(s.begin)
	assert.True(s, got >= want && got <= want+2*time.Second, "got %v, want %v, or up to 2 s more", got, want)
}

// roundTrip sends data and returns the response, or one with the status 0 if none arrives.
func roundTrip(conn net.Conn, data string) http.Response {
	go func() { _, _ = io.WriteString(conn, data) }()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return http.Response{}
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return *response
}

func request(line string, headers ...string) string {
	return fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\n%s\r\n", line, strings.Join(headers, ""))
}

// TestConnections checks when connections end. A client that is still sending a body that nobody reads, after the |,
// gets the response at once.
func TestConnections(t *testing.T) {
	const length, chunked = "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"
	large := request("GET /ok", "X: "+strings.Repeat("x", 16<<10-len(request("GET /ok", "X: \r\n")))+"\r\n") // 16 KiB
	for _, c := range []struct {
		send   string
		status int
		close  bool
		after  time.Duration
	}{
		{request("GET /ok"), 200, false, 2 * time.Minute},
		{request("POST /read", length) + "large", 200, false, 2 * time.Minute},
		{request("GET /ok", "Connection: close\r\n"), 200, true, 0},
		{request("POST /refuse", length) + "large", 401, true, 0},
		{request("POST /read", chunked) + "1\r\nx\r\n0\r\n\r\n", 200, true, 0},
		{"GET /ok HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, true, 0},
		{"GET /ok HTTP/1.1\r\n", 0, false, 3 * time.Second},
		{large, 200, false, 2 * time.Minute},
		{"POST" + large[len("GET"):], 431, true, 500 * time.Millisecond},
		{request("POST /read", length) + "{", 408, true, 4 * time.Second},
		{request("POST /refuse", length, "Connection: close\r\n") + "|slow", 401, true, 500 * time.Millisecond},
		{request("POST /refuse", chunked, "Connection: close\r\n") + "|4\r\na", 401, true, 500 * time.Millisecond},
	} {
		inBubble(t, Options{}, func(s *running) {
			conn := s.dial(s.conns)
			first, slow, _ := strings.Cut(c.send, "|")
			r := roundTrip(conn, first)
			assert.Equal(s, c.status, r.StatusCode, "%.80q", c.send)
			assert.Equal(s, c.close, r.Close, "%.80q: close", c.send)
			for i := range slow {
				must(io.WriteString(conn, slow[i:i+1])) // although the response has been sent
				time.Sleep(100 * time.Millisecond)
			}
			_, _ = io.Copy(io.Discard, conn)
			s.wantTime(c.after)
		})
	}
	inBubble(t, Options{ReadTimeout: 30 * time.Second}, func(s *running) { // a client that sends slowly
		conn := s.dial(s.conns)
		_, _ = io.WriteString(conn, request("POST /read", length)+"lar")
		time.Sleep(29 * time.Second)
		assert.Equal(s, 200, roundTrip(conn, "ge").StatusCode, "a slow body")
	})
	inBubble(t, Options{}, func(s *running) { // a client that does not read
		_, _ = io.WriteString(s.dial(s.conns), request("GET /large"))
		<-s.handler.running
		s.wantTime(20 * time.Second)
	})
}

// TestDrain checks which signals drain a server whose log is blocked, and what clients see meanwhile. Without a
// drain, a connection arrives while the listener closes, and a request on it after that.
func TestDrain(t *testing.T) {
	for cause, drain := range map[error]time.Duration{
		Interrupted{syscall.SIGTERM}: time.Hour, Interrupted{syscall.SIGHUP}: time.Hour,
		Interrupted{syscall.SIGINT}: 0, io.EOF: 0,
	} {
		var stopping atomic.Bool
		o := Options{Drain: time.Hour, Logger: slog.New(slog.NewTextHandler(&stuck{hang: 10 * time.Minute}, nil))}
		o.Stopping = func() { stopping.Store(true) }
		inBubble(t, o, func(s *running) {
			s.cancel(cause)
			synctest.Wait()
			conn := s.dial(s.conns)
			if drain == 0 {
				<-s.others.closed // the last
			}
			assert.Equal(s, 200, roundTrip(conn, request("GET /ok")).StatusCode, "a request meanwhile")
			assert.True(s, stopping.Load(), "Stopping was not called")
			s.wantEnd(drain, nil)
		})
	}
}

// TestNotify checks that systemd is told when the server is ready and when it stops.
func TestNotify(t *testing.T) {
	t.Chdir(t.TempDir()) // its path may be too long for a socket
	t.Setenv("NOTIFY_SOCKET", "notify")
	systemd := must(net.ListenPacket("unixgram", "notify"))
	defer systemd.Close()
	inBubble(t, Options{}, func(*running) {})
	_ = systemd.SetReadDeadline(time.Now().Add(time.Second)) // both have been sent
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		message := make([]byte, 100)
		n, _, _ := systemd.ReadFrom(message)
		assert.Equal(t, want, string(message[:n]))
	}
}

// TestStop checks that a failed service ends the drain, but not requests in flight, unless they hang.
func TestStop(t *testing.T) {
	inBubble(t, Options{Drain: time.Hour}, func(s *running) {
		status := make(chan int)
		for range 2 {
			go func() { status <- s.get("/hang").StatusCode }()
			<-s.handler.running
		}
		s.cancel(Interrupted{syscall.SIGTERM})
		synctest.Wait()
		s.failed <- io.ErrShortWrite
		time.Sleep(8 * time.Second)
		s.handler.done <- struct{}{} // ends one of them
		assert.Equal(s, 200, <-status, "a request in progress")
		s.wantEnd(9*time.Second, "short write\nsome connections did not end within 9s")
		assert.Equal(s, 0, <-status, "a request that hangs, without a response")
		s.wantTime(9 * time.Second)
		close(s.handler.done)
	})
}
