package edge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // adds to http.DefaultServeMux
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of connections. A whole request must arrive within readTimeout, and its
// response must be written within writeTimeout of the end of the header. idleTimeout
// is longer than that of load balancers, which is usually a minute.
const (
	maxHeader     = 16 << 10
	headerTimeout = 3 * time.Second
	readTimeout   = 4 * time.Second
	writeTimeout  = 20 * time.Second
	idleTimeout   = 2 * time.Minute
	lingerTimeout = 500 * time.Millisecond // for the rest of a body that is not read
)

// DefaultMaxConnections is the default of ServeOptions.MaxConnections.
const DefaultMaxConnections = 1000

// ServeOptions are the options of Run. Addr, Metrics and Started are required.
type ServeOptions struct {
	Addr              string              // host:port; port 0 takes any free port
	CertFile, KeyFile string              // PEM files for HTTPS; empty for HTTP
	AdminAddr         string              // for metrics, probes and profiles; empty for none
	Profiles          bool                // serve /debug/pprof/ at AdminAddr
	MaxConnections    int                 // 0 means DefaultMaxConnections
	Drain             time.Duration       // how long to keep serving after SIGTERM or SIGHUP
	Metrics           prometheus.Gatherer // served at AdminAddr
	Failed            <-chan error        // an error received here ends the server; may be nil

	// Started is called with the address, such as http://127.0.0.1:8080. An error
	// ends the server.
	Started func(address string) error
}

// Run serves until the process receives SIGTERM, SIGHUP or SIGINT, then drains and
// stops the server. A second signal kills the process. If ctx ends, there is no drain.
// Run returns nil if the server stopped because it was told to.
func (s *Server) Run(ctx context.Context, o ServeOptions) error {
	signal.Ignore(syscall.SIGPIPE) // a log without a reader must not end the server
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)

	if tracing() {
		stop, err := s.startTracing(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = stop(context.WithoutCancel(ctx)) }()
	}
	server, err := s.newHTTPServer(&o)
	if err != nil {
		return err
	}
	listener, err := listenTCP(ctx, o.Addr, ErrListen)
	if err != nil {
		return err
	}
	if o.AdminAddr != "" {
		admin, err := s.serveAdmin(ctx, o)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer admin.Close()
	}
	served := make(chan error, 1)
	go func() { served <- s.serve(server, listener) }()
	scheme := "http://"
	if s.certificate != nil {
		scheme = "https://"
	}
	if err := o.Started(scheme + reachable(listener)); err != nil {
		return errors.Join(err, server.Close())
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady) // best effort

	var failure error
	select {
	case err := <-served:
		return err
	case failure = <-o.Failed:
	case <-ctx.Done():
	case sig := <-signals:
		signal.Stop(signals)
		if sig == syscall.SIGINT {
			o.Drain = 0
		}
		failure = s.drain(ctx, o.Drain, o.Failed)
	}
	return s.stop(server, failure)
}

// drain keeps serving for a while, while clients are told to go elsewhere. It ends
// early with ctx, or with the error of a service that fails.
func (s *Server) drain(ctx context.Context, d time.Duration, failed <-chan error) error {
	s.stopping.Store(true)
	s.logger.Info("stopping", "drain", d.String())
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case err := <-failed:
		return err
	}
	return nil
}

// stop stops the server once requests in flight have got their responses, which
// takes a moment if the service has failed.
func (s *Server) stop(server *http.Server, failure error) error {
	s.stopping.Store(true)
	timeout := s.shutdownTimeout
	if failure != nil {
		s.logger.Error("the service failed permanently", "error", failure)
		timeout = time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.logger.Warn("some connections did not end in time and were closed")
		err = server.Close()
	}
	return errors.Join(failure, err)
}

// newHTTPServer returns the server, and loads the certificate if there is one.
func (s *Server) newHTTPServer(o *ServeOptions) (*http.Server, error) {
	server := &http.Server{
		Handler:                      s,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  s.readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeader - 4096, // which net/http adds
		Protocols:                    new(http.Protocols),
		DisableGeneralOptionsHandler: true, // OPTIONS * is handled like other requests
		ErrorLog:                     slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	server.Protocols.SetHTTP1(true) // HTTP/2 does not bound what streams hold, nor close connections that nobody reads
	if o.CertFile != "" {
		expiry := s.metrics.gauge("tls_certificate_expiry_timestamp_seconds", "When the certificate in use expires.")
		s.certificate = &certificate{certFile: o.CertFile, keyFile: o.KeyFile, logger: s.logger, expiry: expiry}
		if err := s.certificate.load(); err != nil {
			return nil, err
		}
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate.get}
	}
	o.MaxConnections = cmp.Or(o.MaxConnections, DefaultMaxConnections)
	s.connections = make(chan struct{}, o.MaxConnections)
	s.metrics.gauge("connections_limit", "Connections that may be open.").Set(float64(o.MaxConnections))
	open := s.metrics.gauge("connections", "Open connections.")
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Inc()
		case http.StateClosed:
			open.Dec()
			<-s.connections
		}
	}
	return server, nil
}

// limitListener accepts a connection only once there is room in open, from which the
// server's ConnState hook removes it. The connections are those of the Listener itself:
// one that wraps them, such as netutil.LimitListener, hides CloseWrite from net/http,
// which then cannot end a response to a client that is still sending.
type limitListener struct {
	net.Listener
	open chan struct{}
}

func (l limitListener) Accept() (net.Conn, error) {
	l.open <- struct{}{}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.open
	}
	return conn, err
}

// serve serves on l, with at most cap(s.connections) open at a time.
func (s *Server) serve(server *http.Server, l net.Listener) error {
	l = limitListener{l, s.connections}
	if server.TLSConfig != nil {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(l)
}

// reachable returns an address at which a client on this machine reaches l.
func reachable(l net.Listener) string {
	address := l.Addr().(*net.TCPAddr)
	if address.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", address.Port)
	}
	return address.String()
}

// serveAdmin serves metrics, the probes, and profiles if enabled, on o.AdminAddr,
// where clients cannot take all connections.
func (s *Server) serveAdmin(ctx context.Context, o ServeOptions) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelError)}))
	mux.Handle("/livez", s)
	mux.Handle("/readyz", s)
	if o.Profiles {
		mux.Handle("/debug/pprof/", http.DefaultServeMux) // where net/http/pprof registers
	}
	l, err := listenTCP(ctx, o.AdminAddr, ErrListenAdmin)
	if err != nil {
		return nil, err
	}
	admin := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       2 * time.Minute, // also ends what a handler does
		WriteTimeout:      2 * time.Minute, // profiles take a while
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	go func() {
		if err := admin.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("the admin server ended", "error", err)
		}
	}()
	s.logger.Info("serving metrics", "address", "http://"+reachable(l)+"/metrics")
	return admin, nil
}

// Faults of the options of Run.
var (
	ErrListen      = errors.New("cannot listen")
	ErrListenAdmin = errors.New("cannot listen for metrics and probes")
	ErrCertificate = errors.New("cannot use the certificate")
)

// listenTCP wraps fault if it cannot listen.
func listenTCP(ctx context.Context, addr string, fault error) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault, err)
	}
	return l, nil
}

// certificate is a TLS certificate that is reloaded when its files change.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	expiry            prometheus.Gauge // of current

	mu      sync.Mutex
	current *tls.Certificate
	read    time.Time // when the files were last read
	failed  bool      // whether they could not be used
}

// load reads the certificate with its chain and its private key.
func (c *certificate) load() error {
	c.read = time.Now()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	c.current = &pair
	c.expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
	return nil
}

// get implements tls.Config.GetCertificate. It reads the files at most once a second,
// and keeps the old pair while the new one does not match.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < time.Second {
		return c.current, nil
	}
	old := c.current.Leaf
	err := c.load()
	if err != nil && !c.failed {
		c.logger.Error("the new certificate cannot be used; the old one stays in use", "error", err, "expires", old.NotAfter)
	}
	if !c.current.Leaf.Equal(old) {
		c.logger.Info("a new certificate is in use", "file", c.certFile, "expires", c.current.Leaf.NotAfter)
	}
	c.failed = err != nil
	return c.current, nil
}
