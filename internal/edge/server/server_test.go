package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must come; it is never reached
// unless something hangs.
const patience = 20 * time.Second

// start runs a server until the end of the test.
func start(t testing.TB, handler http.Handler, change ...func(*Config)) *Server {
	t.Helper()
	cfg := Config{
		Addr:           "127.0.0.1:0",
		Logger:         slog.New(slog.DiscardHandler),
		Drain:          func(error) time.Duration { return 0 },
		MaxConnections: 1000,
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := Listen(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, handler, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	return s
}

// dial opens a connection that the end of the test closes.
func dial(t testing.TB, s *Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// respond sends 200 once it has read the body.
var respond = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Length", "0")
})

// isOpen reports whether a request on the connection gets a response.
func isOpen(conn net.Conn, rest *bufio.Reader) bool {
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return false
	}
	_, err := http.ReadResponse(rest, nil)
	return err == nil
}

// ended reports whether the server has ended the connection.
func ended(rest *bufio.Reader) bool {
	_, err := rest.ReadByte()
	timeout, ok := errors.AsType[net.Error](err)
	return err != nil && !(ok && timeout.Timeout())
}

func TestTheEndWaitsForConnectionsThatWaitAtThePort(t *testing.T) {
	t.Parallel()
	s, err := Listen(context.Background(), Config{
		Addr:           "127.0.0.1:0",
		Logger:         slog.New(slog.DiscardHandler),
		Drain:          func(error) time.Duration { return 0 },
		MaxConnections: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	accepting, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.end(context.Background(), s.httpServer(respond), accepting) }()
	for !s.listener.retired.Load() {
		runtime.Gosched()
	}
	for range 200 {
		dial(t, s)
	}
	select {
	case err := <-ended:
		t.Fatalf("while the port is still accepting: got the end (%v), want it to wait", err)
	default:
	}
	close(accepting)
	if err := <-ended; err != nil {
		t.Errorf("once the port is given up: got %v, want the end", err)
	}
}

func TestAPortIsGivenUpOnlyOnceNothingWaitsThere(t *testing.T) {
	t.Parallel()
	s, err := Listen(context.Background(), Config{Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), MaxConnections: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	dial(t, s)
	s.listener.retire()
	if err := s.listener.SetDeadline(time.Unix(1, 0)); err != nil { // nobody has accepted in time
		t.Fatal(err)
	}
	if _, err := s.listener.Accept(); err != nil {
		t.Errorf("a connection that waits: got %v, want it accepted", err)
	}
	if _, err := s.listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("once nothing waits: got %v, want the port closed", err)
	}
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("another connection: got it accepted, want it refused")
	}
}

func TestAClientReadsTheWholeRefusalOfMoreThanTheServerReads(t *testing.T) {
	t.Parallel()
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	s := start(t, refuse)
	long := strings.Repeat("x", 1<<20)
	for name, request := range map[string]string{
		"a header": "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + long + "\r\n\r\n",
		"a body":   "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n" + long,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, rest := dial(t, s)
			go func() { _, _ = io.WriteString(conn, request) }() // the server closes before it ends
			if response, err := io.ReadAll(rest); err != nil || len(response) == 0 {
				t.Errorf("response: got %q, then %v, want it whole, then the end", response, err)
			}
		})
	}
}

func TestEachTimeOfTheServerKnowsItsNeighbour(t *testing.T) {
	times := []time.Duration{readTimeout, writeTimeout, idleTimeout}
	if !slices.IsSorted(times) || DefaultDrain+shutdownTimeout >= 30*time.Second {
		t.Errorf("times: got %v, and %v for drain and shutdown, want them ascending, and the end within half a minute", times, DefaultDrain+shutdownTimeout)
	}
}
