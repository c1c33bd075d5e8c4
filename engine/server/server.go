// Package server runs a process that serves an http.Handler: TLS, limits of connections, an
// admin address, signals, graceful shutdown, and a log that hides secrets. At shutdown, requests
// in flight have 9 s to complete. Clients that send or read too slowly are disconnected.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Limits of connections.
const (
	maxHeader       = 16 << 10
	headerTimeout   = 3 * time.Second
	responseTimeout = 16 * time.Second       // for the response, after ReadTimeout
	idleTimeout     = 2 * time.Minute        // longer than load balancers', usually a minute
	lingerTimeout   = 500 * time.Millisecond // for the rest of a body that is not read
	lockTimeout     = 5 * time.Second        // for another process that opens the same Unix socket
	arrivalTime     = 100 * time.Millisecond // for the first request of a connection at shutdown
	shutdownTimeout = 9 * time.Second        // for requests to complete after the drain
	socketBuffer    = 32 << 10               // each way; Linux doubles it

	adminConnections      = 32
	DefaultMaxConnections = 1000
	defaultReadTimeout    = 4 * time.Second
)

// Options configures a Server. All but Handler and Listeners may be zero.
type Options struct {
	Handler        http.Handler   // must set Connection: close if it leaves a body unread
	Listeners      []net.Listener // where Handler is served
	MaxConnections int            // open at a time, or as many as the process may have; 0 means DefaultMaxConnections
	ReadTimeout    time.Duration  // for reading a request; each connection may hold MaxBody until then; 0 means 4 s
	Drain          time.Duration  // how long to keep serving after SIGTERM or SIGHUP
	Stopping       func()         // called when the server begins to stop; responses should then have Connection: close
	Failed         <-chan error   // receives a permanent failure, which ends the server

	CertFile, KeyFile string // PEM files for HTTPS; empty for HTTP

	Admin    net.Listener        // where metrics, probes and profiles are served; nil for none
	Gatherer prometheus.Gatherer // of the metrics; nil means prometheus.DefaultGatherer
	Profiles bool                // serve /debug/pprof/ at Admin

	Logger  *slog.Logger          // nil for none
	Metrics prometheus.Registerer // for metrics of connections and of the certificate; nil for none
}

// Server serves a handler.
type Server struct {
	options     Options
	http        *http.Server
	listeners   []net.Listener
	connections chan struct{} // has a value for each open connection
}

// New returns a Server. It fails if the certificate cannot be used.
func New(o Options) (*Server, error) {
	o.ReadTimeout = cmp.Or(o.ReadTimeout, defaultReadTimeout)
	o.MaxConnections = cmp.Or(o.MaxConnections, DefaultMaxConnections)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Gatherer = cmp.Or(o.Gatherer, prometheus.DefaultGatherer)
	if o.Stopping == nil {
		o.Stopping = func() {}
	}
	s := &Server{options: o, connections: make(chan struct{}, maxConnections(o))}
	shutdown := make(chan struct{})
	for _, l := range o.Listeners {
		s.listeners = append(s.listeners, &limitListener{Listener: l, open: s.connections, shutdown: shutdown})
	}
	auto := promauto.With(o.Metrics)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "connections", Help: "Open connections."},
		func() float64 { return float64(len(s.connections)) })
	auto.NewGauge(prometheus.GaugeOpts{Name: "connections_limit", Help: "Connections that may be open."}).
		Set(float64(cap(s.connections)))
	s.http = newHTTP(o, http.HandlerFunc(s.serveHTTP))
	s.http.RegisterOnShutdown(func() { close(shutdown) })
	s.http.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			<-s.connections
		}
	}
	if o.CertFile != "" {
		get := certificate(o, auto.NewGauge(prometheus.GaugeOpts{
			Name: "tls_certificate_expiry_timestamp_seconds", Help: "When the certificate in use expires.",
		}))
		if _, err := get(nil); err != nil {
			return nil, err
		}
		s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}
	}
	return s, nil
}

func newHTTP(o Options, handler http.Handler) *http.Server {
	s := &http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  o.ReadTimeout,
		WriteTimeout:                 o.ReadTimeout + responseTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeader - 4096, // which net/http adds
		Protocols:                    new(http.Protocols),
		DisableGeneralOptionsHandler: true, // OPTIONS * is handled like other requests
		ErrorLog:                     log.New(errorLog{o.Logger}, "", 0),
	}
	s.Protocols.SetHTTP1(true) // net/http's HTTP/2 bounds neither the memory of streams nor slow readers
	return s
}

// Run serves until ctx ends or the service fails. After SIGTERM or SIGHUP it drains first;
// see UntilSignal. Run returns nil if ctx ended and all responses were sent.
func (s *Server) Run(ctx context.Context) error {
	if s.options.Admin != nil {
		admin := s.serveAdmin()
		defer admin.Close()
	}
	served := make(chan error, len(s.options.Listeners))
	serve := s.http.Serve
	if s.http.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	for _, l := range s.listeners {
		go func() { served <- serve(l) }()
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady) // best effort
	var failure error
	select {
	case err := <-served:
		return err
	case failure = <-s.options.Failed:
	case <-ctx.Done():
	}
	return s.stop(ctx, failure)
}

// serveHTTP calls the handler, then discards what it left unread of the request's body: if the
// connection closed at once, a client that is still sending would lose the response.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	if !r.ProtoAtLeast(1, 1) || len(r.TransferEncoding) > 0 {
		// A proxy and net/http may disagree where the request ends (RFC 9112, section 6.1).
		w.Header().Set("Connection", "close")
	}
	body := &body{r.Body, r.ContentLength == 0}
	r.Body = body
	s.options.Handler.ServeHTTP(w, r)
	if !body.ended {
		controller := http.NewResponseController(w)
		_ = controller.Flush()
		_ = controller.SetReadDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.Copy(io.Discard, body)
	}
}

// body is the body of a request.
type body struct {
	io.ReadCloser
	ended bool // it was read to its end, or is empty
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// stop drains the server unless the service has failed, waits for requests in flight, and
// closes all connections.
func (s *Server) stop(ctx context.Context, failure error) error {
	s.options.Stopping()
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	if failure == nil {
		failure = s.drain(ctx)
	}
	// Requests have a moment to arrive on accepted connections: net/http drops those that it
	// reads during Shutdown.
	for _, l := range s.listeners {
		_ = l.Close()
	}
	time.Sleep(arrivalTime)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		failure = errors.Join(failure, fmt.Errorf("some connections did not end within %v", shutdownTimeout))
		_ = s.http.Close()
	}
	return failure
}

// drain keeps serving after a signal, while clients reconnect elsewhere. It returns early if
// the service fails.
func (s *Server) drain(ctx context.Context) error {
	var drain time.Duration
	if cause, ok := errors.AsType[Interrupted](context.Cause(ctx)); ok && cause.Signal != syscall.SIGINT {
		drain = s.options.Drain
	}
	go s.options.Logger.Info("stopping", "drain", drain.String()) // the log may block
	select {
	case <-time.After(drain):
		return nil
	case err := <-s.options.Failed:
		return err
	}
}

// Interrupted is the cause of a context that UntilSignal has canceled.
type Interrupted struct{ Signal syscall.Signal }

func (Interrupted) Error() string { return "interrupted" }

// UntilSignal returns a context that SIGINT, SIGTERM or SIGHUP cancels, with an
// Interrupted as its cause. A second signal kills the process. UntilSignal also ignores
// SIGPIPE, so that a server outlives the reader of its log.
func UntilSignal(parent context.Context) context.Context {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(Interrupted{s.(syscall.Signal)})
	}()
	return ctx
}

// errorLog is a writer for an http.Server's ErrorLog. It logs failed TLS handshakes, which
// clients and probes of the port cause, at the debug level.
type errorLog struct{ logger *slog.Logger }

func (l errorLog) Write(line []byte) (int, error) {
	text, level := strings.TrimSpace(string(line)), slog.LevelWarn
	if strings.Contains(text, "TLS handshake error") {
		level = slog.LevelDebug
	}
	l.logger.Log(context.Background(), level, text)
	return len(line), nil
}
