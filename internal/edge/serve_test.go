package edge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
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

// Tests that send signals are not parallel, because every server in the process
// receives them.

func TestDrain(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // which is ignored under nohup
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) { testDrain(t, sig) })
	}
}

func testDrain(t *testing.T, sig syscall.Signal) {
	r := start(t, newHandlers(), ServeOptions{Drain: time.Hour})
	if status, keepAlive := r.get(t, "/readyz"); status != 200 || !keepAlive {
		t.Errorf("before: got %d, kept alive %v, want 200, true", status, keepAlive)
	}
	_ = syscall.Kill(os.Getpid(), sig)
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
	if err := <-r.ended; err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestInterruptSkipsDrain(t *testing.T) {
	r := start(t, newHandlers(), ServeOptions{Drain: time.Hour, Addr: ":0"})
	if !strings.HasPrefix(r.addr, "127.0.0.1:") {
		t.Errorf("on all interfaces: got the address %s, want one to call", r.addr)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	if err := <-r.ended; err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestServiceFailure(t *testing.T) {
	var r *running
	failed := make(chan error)
	h := newHandlers()
	h["getVersion"] = func(echo.Context) error {
		failed <- io.ErrShortWrite
		for !r.server.stopping.Load() {
			runtime.Gosched()
		}
		return io.ErrShortWrite
	}
	r = start(t, h, ServeOptions{Failed: failed})
	if status, _ := r.get(t, "/v1/version"); status != http.StatusInternalServerError {
		t.Errorf("a request in progress: got status %d, want 500", status)
	}
	if err := <-r.ended; !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got error %v, want that of the service", err)
	}
}

// TestReadyDeadline checks that a store that does not answer is not ready, soon.
func TestReadyDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, newHandlers(), func(s *testService, _ *Options) {
			s.ready = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
		start := time.Now()
		wantAmount(t, "status", do(s, newRequest("GET", "/readyz", "")).Code, http.StatusServiceUnavailable)
		wantTime(t, "time", time.Since(start), int64(2*time.Second))
	})
}

func TestAdmin(t *testing.T) {
	for profiles, want := range map[bool]int{false: 404, true: 200} {
		s, _ := newServer(t, newHandlers(), nil)
		server, err := s.serveAdmin(t.Context(), ServeOptions{AdminAddr: "127.0.0.1:0", Profiles: profiles, Metrics: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		for path, status := range map[string]int{"/metrics": 200, "/livez": 200, "/readyz": 200, "/debug/pprof/": want, "/v1/version": 404} {
			if w := do(server.Handler, newRequest("GET", path, "")); w.Code != status {
				t.Errorf("profiles %v: %s: got %d, want %d", profiles, path, w.Code, status)
			}
		}
	}
}

// TestRefusalArrives sends bodies that nobody reads, slowly. The connection must not be
// closed before they are sent.
func TestRefusalArrives(t *testing.T) {
	length := post("Connection: close\r\nContent-Length: 40000")
	for header, want := range map[string]int{
		strings.Replace(length, testKey, "wrong", 1):                          401,
		strings.Replace(length, "POST", "PUT", 1):                             405,
		strings.Replace(length, "books", "nothing", 1):                        404,
		strings.Replace(length, "books", "books?%", 1):                        400,
		strings.Replace(length, "application/json", "text/plain", 1):          415,
		strings.Replace(length, "40000", "70000", 1):                          413,
		strings.Replace(length, "POST", "GET", 1):                             200,
		strings.Replace(post("Content-Length: 70000"), "books", "books?%", 1): 400, // more than net/http reads before the response
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := listen(t, newHandlers(), nil).dial(t)
			go func() {
				for _, data := range []string{header, "a", "a", "a", "a"} {
					if _, err := io.WriteString(conn, data); err != nil {
						t.Errorf("%d: %v", want, err)
					}
					time.Sleep(lingerTimeout / 5)
				}
				_ = conn.Close()
			}()
			wantAmount(t, "status", roundTrip(conn, ""), int64(want))
			_, _ = io.Copy(io.Discard, conn)
		})
	}
}

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, "old.example")
	var log bytes.Buffer
	r := start(t, newHandlers(), ServeOptions{CertFile: certFile, KeyFile: keyFile}, func(s *Server) { s.logger = slog.New(slog.NewTextHandler(&log, nil)) })
	c := r.server.certificate
	dial := func() *tls.Conn {
		c.mu.Lock()
		c.read = time.Time{} // so that the handshake reads the files again
		c.mu.Unlock()
		conn, err := tls.Dial("tcp", r.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	want := func(name string) {
		t.Helper()
		state := dial().ConnectionState()
		if got := state.PeerCertificates[0].DNSNames[0]; got != name || state.NegotiatedProtocol != "http/1.1" {
			t.Errorf("got the certificate of %s and %s, want %s and http/1.1", got, state.NegotiatedProtocol, name)
		}
	}
	want("old.example")
	writeCertificate(t, filepath.Join(dir, "new.pem"), keyFile, "new.example") // half a pair
	want("old.example")
	want("old.example")
	if err := (&certificate{certFile: certFile, keyFile: keyFile}).load(); !errors.Is(err, ErrCertificate) {
		t.Errorf("half a pair at the start: got error %v, want %v", err, ErrCertificate)
	}
	if err := os.Rename(filepath.Join(dir, "new.pem"), certFile); err != nil {
		t.Fatal(err)
	}
	want("new.example")
	c.mu.Lock()
	for _, line := range []string{"the new certificate cannot be used", "a new certificate is in use"} {
		if strings.Count(log.String(), line) != 1 {
			t.Errorf("log: got %s, want %q once", log.String(), line)
		}
	}
	c.mu.Unlock()

	// The connection must not be reset before the response to too large a header is read.
	conn := dial()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 4*maxHeader))
	if response, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 431 ") {
		t.Errorf("a large header: got %q, error %v, want 431", response, err)
	}
}

func writeCertificate(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	err3 := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600)
	err4 := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
}
