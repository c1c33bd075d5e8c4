package main

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/petstore/internal/edge/logging"
	"example.com/petstore/internal/edge/metrics"
	"example.com/petstore/internal/edge/server"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store"
)

// observation is the metrics of a server with --admin-addr; without, it is empty.
type observation struct {
	store      pets.Store           // the service's, timed where there are metrics
	registry   *prometheus.Registry // nil where there are none
	collectors []prometheus.Collector
	admin      *server.Admin
}

// observe starts the admin server, if --admin-addr asks for it.
func observe(ctx context.Context, cfg serveConfig, logger *slog.Logger, st pets.Store, srv *server.Server) (*observation, error) {
	o := &observation{store: st}
	if cfg.adminAddr == "" {
		if cfg.pprof {
			return nil, usageError{errors.New("--pprof needs --admin-addr, where profiles are served")}
		}
		return o, nil
	}
	kind, _, _ := strings.Cut(cfg.store, ":")
	if cfg.pprof {
		sampleAllocations()
	}
	timed := store.Observe(st)
	o.store, o.registry = timed, prometheus.NewRegistry()
	o.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.collectors = []prometheus.Collector{timed, figures{kind, srv, logger}}
	var err error
	if o.admin, err = server.ListenAdmin(ctx, cfg.adminAddr, promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{}), cfg.pprof, logger); err != nil {
		return nil, err
	}
	logger.Info("metrics", "address", o.admin.URL()+"/metrics", "pprof", cfg.pprof)
	return o, nil
}

// close ends the admin server.
func (o *observation) close() {
	if o.admin != nil {
		_ = o.admin.Close() // the process ends anyway
	}
}

// figures are those of the program and its server.
type figures struct {
	store  string // its kind
	server *server.Server
	logger *slog.Logger
}

// Describe implements prometheus.Collector.
func (f figures) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f figures) Collect(ch chan<- prometheus.Metric) {
	out := metrics.Output(ch)
	out.Gauge("build_info", "The program.", 1, "version", programVersion(), "commit", programCommit(), "go_version", runtime.Version(), "store", f.store)
	c := f.server.ConnectionStats()
	const help = "Open connections of clients."
	out.Gauge("connections", help, float64(c.Active), "state", "active")
	out.Gauge("connections", help, float64(c.Idle), "state", "idle")
	out.Gauge("connections_limit", "How many connections there may be: --max-connections.", float64(c.Limit))
	out.Counter("connections_evicted_total", "Connections closed at the limit to make room.", float64(c.Evicted))
	out.Gauge("draining", "1 once the server has been told to end.", metrics.Boolean(f.server.Draining()))
	out.Counter("log_lines_missing_total", "Lines that were dropped from the log, or could not be written.", float64(logging.Missing(f.logger)))
	if expiry := f.server.CertificateExpiry(); !expiry.IsZero() {
		out.Gauge("tls_certificate_expiry_timestamp_seconds", "When the certificate in use expires.", float64(expiry.Unix()))
	}
}
