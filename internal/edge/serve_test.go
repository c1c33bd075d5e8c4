package edge

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// running is a server in this process.
type running struct {
	server *Server
	addr   string // host:port
	ended  chan error
	cancel context.CancelFunc // ends the server without a drain
}

// start runs a server until the test ends.
func start(t *testing.T, h handlers, o ServeOptions, change ...func(*Server)) *running {
	t.Helper()
	s, _ := newServer(t, h, func(_ *testService, o *Options) { o.Logger = slog.New(slog.DiscardHandler) })
	s.shutdownTimeout = 200 * time.Millisecond
	for _, f := range change {
		f(s)
	}
	started := make(chan string, 1)
	o.Addr, o.Metrics = cmp.Or(o.Addr, "127.0.0.1:0"), prometheus.NewRegistry()
	o.Started = func(address string) error { started <- address; return nil }
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r := &running{server: s, ended: make(chan error, 1), cancel: cancel}
	go func() { r.ended <- s.Run(ctx, o) }()
	select {
	case address := <-started:
		_, r.addr, _ = strings.Cut(address, "://")
	case err := <-r.ended:
		t.Fatal(err)
	}
	return r
}

// wait returns how the server ended.
func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the server did not stop")
		return nil
	}
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

func signalSelf(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}

// Tests that send signals are not parallel, because every server in the process
// receives them.

func TestDrain(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) { testDrain(t, sig) })
	}
}

func testDrain(t *testing.T, sig syscall.Signal) {
	r := start(t, newHandlers(), ServeOptions{Drain: time.Hour})
	if status, keepAlive := r.get(t, "/readyz"); status != 200 || !keepAlive {
		t.Errorf("before: got %d, kept alive %v, want 200, true", status, keepAlive)
	}
	signalSelf(t, sig)
	for status := 0; status != http.StatusServiceUnavailable; {
		status, _ = r.get(t, "/readyz")
	}
	if _, keepAlive := r.get(t, "/readyz"); keepAlive { // the one before may have begun earlier
		t.Error("draining: got a connection that stays open, want Connection: close")
	}
	if status, _ := r.get(t, "/v1/version"); status != http.StatusOK {
		t.Errorf("a request while draining: got %d, want 200", status)
	}
	r.cancel()
	if err := r.wait(t); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestInterruptSkipsDrain(t *testing.T) {
	r := start(t, newHandlers(), ServeOptions{Drain: time.Hour, Addr: ":0"})
	if !strings.HasPrefix(r.addr, "127.0.0.1:") {
		t.Errorf("on all interfaces: got the address %s, want one to call", r.addr)
	}
	signalSelf(t, syscall.SIGINT)
	if err := r.wait(t); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

// TestBodyOfWaitingRequest sends a body that is larger than the buffer of the
// connection, while the only place is taken for longer than a body may take.
func TestBodyOfWaitingRequest(t *testing.T) {
	h := newHandlers()
	begun, done := make(chan bool), make(chan bool)
	h["getVersion"] = func(c echo.Context) error {
		begun <- true
		<-done
		return sendOK(c)
	}
	r := start(t, h, ServeOptions{}, func(s *Server) { s.inFlight, s.readTimeout = newInFlight(1), time.Second })
	go func() { _, _ = http.Get("http://" + r.addr + "/v1/version") }()
	<-begun
	time.AfterFunc(r.server.readTimeout*3/2, func() { close(done) })
	body := `{"title":"a","x":"` + strings.Repeat("x", 60_000) + `"}`
	request := newRequest("POST", "http://"+r.addr+"/v1/books", body)
	request.RequestURI = ""
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		t.Errorf("got %s, want 201", response.Status)
	}
}

func TestServiceFailure(t *testing.T) {
	failed, address := make(chan error), make(chan string, 1)
	h := newHandlers()
	h["getVersion"] = func(echo.Context) error {
		failed <- io.ErrShortWrite
		for to := <-address; ; { // until the server closes its listener
			conn, err := net.Dial("tcp", to)
			if err != nil {
				return io.ErrShortWrite
			}
			_ = conn.Close()
		}
	}
	r := start(t, h, ServeOptions{Failed: failed})
	address <- r.addr
	response, err := http.Get("http://" + r.addr + "/v1/version")
	if err != nil {
		t.Fatalf("a request in progress: got error %v, want a response", err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if want := `{"code":"internal","message":`; response.StatusCode != http.StatusInternalServerError || !strings.HasPrefix(string(body), want) {
		t.Errorf("a request in progress: got %d %s (error %v), want 500 %s", response.StatusCode, body, err, want)
	}
	if err := r.wait(t); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got error %v, want that of the service", err)
	}
}

func TestListenError(t *testing.T) {
	s, _ := newServer(t, newHandlers(), nil)
	if err := s.Run(t.Context(), ServeOptions{Addr: "127.0.0.1:99999"}); !errors.Is(err, ErrListen) {
		t.Errorf("got error %v, want advice", err)
	}
}

// TestReadyDeadline checks that a store that does not answer is not ready, soon.
func TestReadyDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, newHandlers(), func(s *testService, _ *Options) {
			s.ready = func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Minute):
					return nil
				}
			}
		})
		start := time.Now()
		w := do(s, newRequest("GET", "/readyz", ""))
		wantAmount(t, "status", int64(w.Code), http.StatusServiceUnavailable)
		wantTime(t, "time", time.Since(start), int64(2*time.Second))
	})
}

func TestAdmin(t *testing.T) {
	for _, profiles := range []bool{false, true} {
		s, _ := newServer(t, newHandlers(), nil)
		server, err := s.serveAdmin(t.Context(), ServeOptions{AdminAddr: "127.0.0.1:0", Profiles: profiles, Metrics: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"/metrics": 200, "/livez": 200, "/readyz": 200, "/debug/pprof/": 404, "/v1/version": 404}
		if profiles {
			want["/debug/pprof/"] = 200
		}
		for path, status := range want {
			if w := do(server.Handler, newRequest("GET", path, "")); w.Code != status {
				t.Errorf("profiles %v: %s: got %d, want %d", profiles, path, w.Code, status)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
			again := &http.Server{Handler: server.Handler, ReadTimeout: server.ReadTimeout, WriteTimeout: server.WriteTimeout}
			go func() { _ = again.Serve(l) }()
			_, after := l.send(t, "GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
			wantTime(t, "time of a request without its body", after, int64(2*time.Minute))
			_ = again.Close()
			time.Sleep(time.Hour) // until all goroutines have ended
		})
		server.Close()
	}
}
