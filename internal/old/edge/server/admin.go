package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// Admin is the server for the operator: metrics, and profiles where asked for. It
// has a port of its own, which no client should reach.
type Admin struct {
	listener net.Listener
	server   *http.Server
}

// ListenAdmin takes the port of an Admin and serves there. An address without a
// host is this machine's alone.
func ListenAdmin(ctx context.Context, addr string, metrics http.Handler, profiles bool, logger *slog.Logger) (*Admin, error) {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	l, err := listen(ctx, addr, "--admin-addr")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	if profiles {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	a := &Admin{listener: l, server: &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: readTimeout,
		WriteTimeout:      2 * time.Minute, // a profile of a minute
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}}
	go func() {
		if err := a.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the admin server ended", "error", err)
		}
	}()
	return a, nil
}

// URL returns the address of the server, without a path.
func (a *Admin) URL() string { return "http://" + a.listener.Addr().String() }

// Close ends the server at once.
func (a *Admin) Close() error { return a.server.Close() }
