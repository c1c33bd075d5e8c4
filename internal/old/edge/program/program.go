// Package program runs an HTTP handler as a program: flags and variables, the log,
// the port, TLS, metrics and profiles, signals and the drain, systemd. It knows
// nothing of the document that the handler serves.
//
// The life of a program:
//
//	Run      judges the settings, starts the log, then calls its function
//	 Listen  takes the ports
//	 Serve   serves until a signal, or until the service fails for good
package program

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/petstore/internal/old/edge/logging"
	"example.com/petstore/internal/old/edge/server"
)

// Config says which program it is, and where it runs. Misspelt, Secrets and KeyPattern
// may be empty.
type Config struct {
	Settings
	Version    string
	Misspelt   []Misspelt     // the log warns of them
	Secrets    []string       // texts that the log never has
	KeyPattern *regexp.Regexp // what looks like a key; see logging.Options

	Getenv           func(string) string
	Stderr           io.Writer // where the log goes
	StderrIsTerminal bool
}

// Program is a program while it runs.
type Program struct {
	Settings
	Logger *slog.Logger

	// Metrics has the metrics of all that the program is made of, at --admin-addr. It
	// is nil where that is empty.
	Metrics *prometheus.Registry

	// Labels are labels of the metric build_info beside version and go_version.
	Labels prometheus.Labels

	version    string
	supervisor string // the socket of systemd
	server     *server.Server
	admin      *server.Admin
}

// Run calls f once all settings have been judged and the log has begun; no port is
// taken yet. The context of f ends with SIGINT and SIGTERM. Run ends what the program
// has begun once f has returned, and returns the error of f, or a UsageError.
func Run(ctx context.Context, cfg Config, f func(context.Context, *Program) error) error {
	ctx, stop := UntilSignal(ctx)
	defer stop()
	if err := cfg.check(); err != nil {
		return err
	}
	options := cfg.log(cfg.StderrIsTerminal)
	options.Secrets, options.KeyPattern = cfg.Secrets, cfg.KeyPattern
	logger, endLog := logging.New(cfg.Stderr, options)
	defer endLog()
	for _, m := range cfg.Misspelt {
		logger.Warn("a variable of the environment may be misspelt", "variable", m.Name, "perhaps", m.Meant) // its value may be a secret
	}
	tuneMemory(cfg.Getenv, logger)
	p := &Program{Settings: cfg.Settings, Logger: logger, version: cfg.Version, supervisor: cfg.Getenv("NOTIFY_SOCKET")}
	if p.AdminAddr != "" {
		p.Metrics = prometheus.NewRegistry()
		p.Metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	defer p.close()
	return f(ctx, p)
}

// Listen takes the ports: --addr, where requests wait until Serve, and --admin-addr.
// It loads the certificate before. Once it has the ports, it does nothing.
func (p *Program) Listen(ctx context.Context) (err error) {
	if p.server != nil {
		return nil
	}
	if p.server, err = server.Listen(ctx, server.Config{
		Addr: p.Addr, CertFile: p.TLSCert, KeyFile: p.TLSKey,
		Logger: p.Logger, Drain: p.drainAfter, MaxConnections: p.MaxConnections,
	}); err != nil {
		return err
	}
	if p.AdminAddr == "" {
		return nil
	}
	metrics := promhttp.HandlerFor(p.Metrics, promhttp.HandlerOpts{})
	if p.admin, err = server.ListenAdmin(ctx, p.AdminAddr, metrics, p.Profiles, p.Logger); err != nil {
		return err
	}
	p.Logger.Info("metrics", "address", p.admin.URL()+"/metrics", "pprof", p.Profiles)
	return nil
}

// CheckCertificate loads the certificate, as Listen does, and returns when it expires.
func (p *Program) CheckCertificate() (expiry time.Time, err error) {
	return server.CheckPair(p.TLSCert, p.TLSKey)
}

// URL returns the address of the service for clients on this machine, without a path.
// It needs Listen.
func (p *Program) URL() string { return p.server.URL() }

// Draining reports whether the program has been told to end. It then still serves.
func (p *Program) Draining() bool { return p.server != nil && p.server.Draining() }

// Serve serves handler until ctx ends, then drains. An error on failed ends it at
// once. It tells the log that it serves, with these attributes, and systemd. It needs
// Listen.
func (p *Program) Serve(ctx context.Context, handler http.Handler, failed <-chan error, attrs ...any) error {
	p.Logger.Info("serving", append(attrs, "version", p.version)...)
	notify(p.supervisor, p.Logger, notifyReady)
	stop := context.AfterFunc(ctx, func() { notify(p.supervisor, p.Logger, notifyStopping) })
	defer stop()
	return p.server.Run(ctx, handler, failed)
}

func (p *Program) close() {
	if p.server != nil {
		_ = p.server.Close() // where Serve has not done so
	}
	if p.admin != nil {
		_ = p.admin.Close() // the process ends anyway
	}
}
