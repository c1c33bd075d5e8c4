// Package server runs the HTTP server: it listens, bounds times and connections,
// drains and ends. It knows nothing of documents, keys or paths.
//
// The life of a server:
//
//	Listen    takes the port
//	Run       serves until its context ends, or the service fails for good
//	 drain    still serves, and asks every client to leave
//	 retire   accepts what waits at the port, then gives it up
//	 finish   closes quiet connections, waits for the rest, under a deadline
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/petstore/internal/old/reason"
)

// The server's times, each with its neighbours. A request must arrive whole,
// header and body, within readTimeout: 64 KiB at the pace of a modem. It is
// worked on for at most the edge's 8 s, and its response must be written before
// writeTimeout, which starts with its header. idleTimeout outlasts the minute
// after which load balancers commonly drop a connection, so that they, and not
// this server, end it. DefaultDrain and shutdownTimeout together stay below the
// half minute that supervisors commonly grant before they kill.
const (
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 20 * time.Second

	// DefaultDrain is how long a server drains: a load balancer that asks for
	// readiness every second has noticed by then.
	DefaultDrain = 5 * time.Second
)

// maxHeaderBytes is what the document promises to take; net/http allows 4 KiB
// more before it refuses.
const maxHeaderBytes = 32 << 10

// Config is the configuration of a server. All fields but those of TLS are
// required.
type Config struct {
	Addr   string // host:port; port 0 takes any free one
	Logger *slog.Logger

	// CertFile and KeyFile are the files of a certificate with its chain and of
	// its private key, in PEM form. Without them, HTTP is served without TLS.
	CertFile, KeyFile string

	// MaxConnections is how many connections may be open at once; see
	// DefaultMaxConnections.
	MaxConnections int

	// Drain returns how long to serve on after Run's context has ended for that
	// cause.
	Drain func(cause error) time.Duration
}

// Server is an HTTP server that has its port. Its methods are safe for
// concurrent use.
type Server struct {
	cfg      Config
	listener *listener
	conns    *connections
	pair     *pair // nil without TLS
	draining atomic.Bool
}

// Listen loads the certificate, if there is to be one, and takes the port.
// Requests wait there until Run.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, conns: newConnections(cfg.MaxConnections)}
	if cfg.CertFile != "" {
		var err error
		if s.pair, err = newPair(cfg.CertFile, cfg.KeyFile, cfg.Logger); err != nil {
			return nil, err
		}
	}
	l, err := listen(ctx, cfg.Addr, "--addr")
	if err != nil {
		return nil, err
	}
	s.listener = &listener{TCPListener: l, conns: s.conns}
	return s, nil
}

func listen(ctx context.Context, addr, flag string) (*net.TCPListener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: another program does; stop it or choose another %s", addr, flag)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %q: %w; choose another %s, such as 127.0.0.1:8080", addr, reason.Of(err), flag)
	}
	return l.(*net.TCPListener), nil
}

// Addr returns the address the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL returns the address for clients on this machine, without a path.
func (s *Server) URL() string {
	if s.pair != nil {
		return "https://" + s.Addr().String()
	}
	return "http://" + s.Addr().String()
}

// CertificateExpiry returns the end of the certificate in use, or the zero time
// without TLS.
func (s *Server) CertificateExpiry() time.Time {
	if s.pair == nil {
		return time.Time{}
	}
	return s.pair.current.Load().Leaf.NotAfter
}

// Draining reports whether the server has begun to end: no longer ready, though
// it still serves.
func (s *Server) Draining() bool { return s.draining.Load() }

// ConnectionStats returns figures of the connections of clients.
func (s *Server) ConnectionStats() ConnectionStats { return s.conns.stats() }

// Close gives up the port of a server that does not Run.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves handler until ctx ends, then drains and ends the server. An error on
// failed ends it at once and is returned.
func (s *Server) Run(ctx context.Context, handler http.Handler, failed <-chan error) error {
	server := s.httpServer(handler)
	served := make(chan error, 1)
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		served <- s.serve(server)
	}()

	if s.pair != nil {
		watched, stop := context.WithCancel(context.WithoutCancel(ctx)) // while it drains too
		defer stop()
		go s.pair.watch(watched)
	}
	stopping := ctx.Done()
	drained := make(chan error, 1)
	for {
		select {
		case <-stopping:
			stopping = nil
			go func() { drained <- s.end(ctx, server, accepting) }()
		case err := <-served:
			if !s.draining.Load() {
				return errors.Join(err, server.Close())
			}
		case err := <-failed:
			s.cfg.Logger.Error("the service failed for good", "error", err)
			return errors.Join(err, server.Close())
		case err := <-drained:
			return err
		}
	}
}

func (s *Server) serve(server *http.Server) error {
	if s.pair == nil {
		return server.Serve(s.listener)
	}
	server.TLSConfig = s.pair.config()
	return server.ServeTLS(s.listener, "", "")
}

func (s *Server) httpServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:                      s.endsConnections(handler),
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		HTTP2:                        &http2Bounds,
		DisableGeneralOptionsHandler: true, // the handler takes OPTIONS * like everything else
		ConnContext:                  withConn,
		ConnState:                    s.conns.observe,
		ErrorLog:                     slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelWarn),
	}
}
