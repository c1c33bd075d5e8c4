package server

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// testHandler has the probes, and paths that begin the name of what they do.
type testHandler struct {
	stopping atomic.Bool
	running  chan struct{} // receives a value for each request to /hang
	done     chan struct{} // ends these requests
}

func (h *testHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/readyz":
		if h.stopping.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case "/livez", "/ok":
	case "/hang":
		h.running <- struct{}{}
		<-h.done
	case "/read":
		if _, err := io.ReadAll(r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	case "/refuse": // does not read the body
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusUnauthorized)
	case "/large":
		_, err := w.Write(make([]byte, 1<<20))
		if err != nil {
			h.running <- struct{}{}
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// running is a server in this process.
type running struct {
	*Server
	handler *testHandler
	addr    string // host:port
	ended   chan error
	cancel  context.CancelCauseFunc
}

// newServer returns a server of a testHandler, with what o leaves out.
func newServer(t *testing.T, o Options) (*Server, *testHandler) {
	t.Helper()
	h := &testHandler{running: make(chan struct{}, 1), done: make(chan struct{})}
	registry := prometheus.NewRegistry()
	o.Handler, o.Stopping = h, func() { h.stopping.Store(true) }
	o.MaxConnections = cmp.Or(o.MaxConnections, DefaultMaxConnections)
	o.Metrics, o.Gatherer = registry, registry
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

// start runs a server on a port of this machine until the test ends.
func start(t *testing.T, o Options) *running {
	t.Helper()
	o.Listener = listen(t)
	s, h := newServer(t, o)
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &running{Server: s, handler: h, addr: o.Listener.Addr().String(), ended: make(chan error, 1), cancel: cancel}
	go func() { r.ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel(nil)
		_ = s.http.Close()
	})
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// get sends a request on a new connection and returns the status and whether the
// connection stays open.
func (r *running) get(t *testing.T, path string) (status int, keepAlive bool) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://" + r.addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, !response.Close
}

func TestDrain(t *testing.T) {
	r := start(t, Options{Drain: time.Hour})
	if status, keepAlive := r.get(t, "/readyz"); status != 200 || !keepAlive {
		t.Errorf("before: got %d, kept alive %v, want 200, true", status, keepAlive)
	}
	r.cancel(Interrupted{syscall.SIGTERM})
	for status := 0; status != http.StatusServiceUnavailable; {
		status, _ = r.get(t, "/readyz")
	}
	if status, keepAlive := r.get(t, "/ok"); status != 200 || keepAlive {
		t.Errorf("draining: got %d, kept alive %v, want 200, false", status, keepAlive)
	}
}

// TestNoDrain checks what ends a server without a drain.
func TestNoDrain(t *testing.T) {
	for _, cause := range []error{Interrupted{syscall.SIGINT}, nil} {
		r := start(t, Options{Drain: time.Hour})
		r.cancel(cause)
		if err := <-r.ended; err != nil {
			t.Errorf("%v: got error %v, want none", cause, err)
		}
	}
}

// TestUntilSignal is not parallel, because signals are for the whole process.
func TestUntilSignal(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // which is ignored under nohup
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		ctx := UntilSignal(t.Context())
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if got := context.Cause(ctx); got != (Interrupted{sig}) {
			t.Errorf("got cause %v, want %v", got, sig)
		}
	}
}

// TestFailure checks that a failed service ends the server, also while it drains, once
// the requests that run have their responses.
func TestFailure(t *testing.T) {
	for _, drains := range []bool{false, true} {
		failed := make(chan error)
		r := start(t, Options{Failed: failed, Drain: time.Hour})
		status := make(chan int)
		go func() {
			got, _ := r.get(t, "/hang")
			status <- got
		}()
		<-r.handler.running
		if drains {
			r.cancel(Interrupted{syscall.SIGTERM})
		}
		failed <- io.ErrShortWrite
		close(r.handler.done)
		if got := <-status; got != 200 {
			t.Errorf("drains %v: a request in progress: got %d, want 200", drains, got)
		}
		if err := <-r.ended; !errors.Is(err, io.ErrShortWrite) || !r.handler.stopping.Load() {
			t.Errorf("drains %v: got error %v, want that of the service", drains, err)
		}
	}
}

func TestAdmin(t *testing.T) {
	for profiles, want := range map[bool]int{false: 404, true: 200} {
		s, _ := newServer(t, Options{Admin: listen(t), Profiles: profiles})
		admin := s.serveAdmin()
		defer admin.Close()
		for path, status := range map[string]int{"/metrics": 200, "/livez": 200, "/readyz": 200, "/debug/pprof/": want, "/ok": 404} {
			w := httptest.NewRecorder()
			admin.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != status {
				t.Errorf("profiles %v: %s: got %d, want %d", profiles, path, w.Code, status)
			}
		}
	}
}

func TestURL(t *testing.T) {
	for ip, want := range map[string]string{"192.0.2.1": "192.0.2.1:80", "::1": "[::1]:80", "::": "127.0.0.1:80", "0.0.0.0": "127.0.0.1:80"} {
		for secure, scheme := range map[bool]string{false: "http://", true: "https://"} {
			if got := URL(&pipes{addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 80}}, secure); got != scheme+want {
				t.Errorf("%s: got %s, want %s", ip, got, scheme+want)
			}
		}
	}
}

// pipes is a listener whose connections are pipes, so that it can live in a bubble of
// synctest.
type pipes struct {
	conns chan net.Conn
	addr  *net.TCPAddr
}

func (l *pipes) Accept() (net.Conn, error) {
	if conn, ok := <-l.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l *pipes) Close() error {
	close(l.conns)
	return nil
}

func (l *pipes) Addr() net.Addr { return l.addr }

// dial returns a connection once the server has accepted it.
func (l *pipes) dial(t *testing.T) net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// roundTrip sends data and returns the status of the response, 0 if there is none.
func roundTrip(conn net.Conn, data string) (status int) {
	go func() { _, _ = io.WriteString(conn, data) }()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func request(line string, headers ...string) string {
	return fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\n%s\r\n", line, strings.Join(headers, ""))
}
