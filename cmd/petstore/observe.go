package main

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/edge/logging"
	"example.com/petstore/internal/edge/metrics"
	"example.com/petstore/internal/edge/server"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
)

// observation is the metrics of a server with --admin-addr; without, it is empty.
type observation struct {
	store    pets.Store    // the service's, timed where there are metrics
	observer edge.Observer // nil where there are none
	admin    *server.Admin
	keys     atomic.Pointer[keys.Keyring]
}

// observe starts the admin server, if --admin-addr asks for it.
func observe(ctx context.Context, cfg serveConfig, logger *slog.Logger, st pets.Store, limits edge.Limits, srv *server.Server) (*observation, error) {
	o := &observation{store: st}
	if cfg.adminAddr == "" {
		if cfg.pprof {
			return nil, usageError{errors.New("--pprof needs --admin-addr, where profiles are served")}
		}
		return o, nil
	}
	kind, _, _ := strings.Cut(cfg.store, ":")
	sources := metrics.Sources{
		Version: programVersion(), Commit: programCommit(), GoVersion: runtime.Version(), Store: kind,
		Limits:      limits,
		Connections: srv.ConnectionStats,
		Draining:    srv.Draining,
		Certificate: srv.CertificateExpiry,
		LogMissing:  func() int64 { return logging.Missing(logger) },
		KeyCache: func() (stats keys.CacheStats) {
			if keyring := o.keys.Load(); keyring != nil {
				stats = keyring.CacheStats()
			}
			return stats
		},
	}
	sources.Stats, _ = st.(pets.StatsReporter)
	if cfg.pprof {
		sampleAllocations()
	}
	m := metrics.New(sources)
	o.store, o.observer = m.Store(st), m
	var err error
	if o.admin, err = server.ListenAdmin(ctx, cfg.adminAddr, m.Handler(), cfg.pprof, logger); err != nil {
		return nil, err
	}
	logger.Info("metrics", "address", o.admin.URL()+"/metrics", "pprof", cfg.pprof)
	return o, nil
}

func (o *observation) watchKeys(keyring *keys.Keyring) { o.keys.Store(keyring) }

// close ends the admin server.
func (o *observation) close() {
	if o.admin != nil {
		_ = o.admin.Close() // the process ends anyway
	}
}
