package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/keys"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

const defaultAddr = "127.0.0.1:8080"

type serveConfig struct {
	open            db.Options
	sandbox         bool
	fixedKeys       []string
	addr, adminAddr string
	edge            edge.Options
	server          server.Options
	logLevel        slog.Level
	logFormat       string
}

func serveCommand(env *environment) *cobra.Command {
	var cfg serveConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the operations of openapi.yaml",
		Long: `serve serves the operations of openapi.yaml, and makes the store if there is none.
Clients need an API key: create one with "petstore keys create NAME" at any time.

PETSTORE_API_KEYS adds fixed keys, separated by commas, each of at least 16
characters; PETSTORE_API_KEYS_FILE names a file with one key on each line.

--sandbox is for testing clients. It prints PETSTORE_URL, PETSTORE_KEY and
PETSTORE_READ_ONLY_KEY as variables for a shell.

SIGTERM drains the server for --drain; SIGINT skips the drain. Requests in flight
then have 9 s to finish, and the process ends 3 s later, whatever hangs. A second
signal stops the server at once.`,
		Example: "  petstore serve --addr :8080 --store " + address.Kinds[0].Default,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cfg.fixedKeys, err = fixedKeys(env.variables); err != nil {
				return err
			}
			if err := cfg.validate(env, cmd.Flags().Changed); err != nil {
				return err
			}
			cfg.setUp(env)
			warnOfVariables(env, cmd.Root())
			return serve(cmd.Context(), env, &cfg)
		},
	}
	flags, srv, web := cmd.Flags(), &cfg.server, &cfg.edge
	flags.BoolVar(&cfg.open.MustExist, "must-exist", false, "fail if there is no store, rather than make one")
	flags.BoolVar(&cfg.open.RequireSync, "require-sync", false, "refuse to start unless PostgreSQL waits for a\nstandby")
	flags.StringVar(&cfg.addr, "addr", defaultAddr, "the `address` to listen on: HOST:PORT, or unix:PATH for a\n"+
		"Unix socket; :0 takes any free port; omit it if systemd\npasses sockets")
	addFlag(flags, &web.PublicURL, parseURL, "public-url", "the `address` that clients use if there is a proxy in "+
		"front,\nsuch as https://api.example.com/v1")
	flags.StringVar(&srv.CertFile, "tls-cert", "", "the `file` of a certificate and its chain (PEM), for HTTPS;\n"+
		"read again when it changes")
	flags.StringVar(&srv.KeyFile, "tls-key", "", "the `file` of the private key of --tls-cert (PEM)")
	flags.DurationVar(&srv.Drain, "drain", 5*time.Second, "how long to keep serving after SIGTERM, while /readyz\n"+
		"fails and responses ask the clients to reconnect")
	flags.IntVar(&srv.MaxConnections, "max-connections", server.DefaultMaxConnections, "open connections; others wait")
	flags.IntVar(&web.MaxInFlight, "max-in-flight", edge.DefaultMaxInFlight, "requests in flight, at most 75 % of "+
		"them with one key;\nas many may wait, and others get 503")
	flags.Float64Var(&web.RateLimit, "rate-limit", 0, "requests per second of each key; others get 429; 0 for\nno limit")
	addFlag(flags, &web.TrustedProxies, parseNetworks, "trusted-proxies", "the `networks` of proxies whose "+
		"X-Forwarded-For is trusted,\nsuch as 127.0.0.1,10.0.0.0/8; it always is on a Unix socket")
	addFlag(flags, &web.AllowOrigins, parseOrigins, "allow-origins", "the `origins` of web pages that may use the "+
		"operations\n(CORS), such as https://app.example.com")
	flags.StringVar(&cfg.adminAddr, "admin-addr", "", "the `address` of /metrics and probes, such as 127.0.0.1:9090")
	flags.BoolVar(&srv.Profiles, "pprof", false, "serve /debug/pprof/ at --admin-addr too; profiles can hold\n"+
		"secrets; many connections may end a long one early")
	flags.TextVar(&cfg.logLevel, "log-level", slog.LevelInfo, "the minimum `level` to log: debug, info,\nwarn or error")
	flags.StringVar(&cfg.logFormat, "log-format", "auto", "text, json, or auto: text at a terminal, else json")
	flags.BoolVar(&cfg.sandbox, "sandbox", false, "serve the same 300 pets from memory, also to web pages (CORS)")
	return addStore(env, cmd)
}

// validate checks the values of flags. isSet reports whether a flag was set.
func (cfg *serveConfig) validate(env *environment, isSet func(flag string) bool) error {
	for _, addr := range []string{cfg.addr, cmp.Or(cfg.adminAddr, defaultAddr)} {
		network, address := server.Network(addr)
		_, _, err := net.SplitHostPort(address)
		if address == "" || network == "tcp" && err != nil {
			return misuse("--addr and --admin-addr must be HOST:PORT, such as %s, or unix:PATH: %w", defaultAddr, err)
		}
	}
	connections, requests, rate := cfg.server.MaxConnections, cfg.edge.MaxInFlight, cfg.edge.RateLimit
	ownStore := isSet("store") || isSet("must-exist") || isSet("require-sync")
	noKey := len(cfg.fixedKeys) == 0 && !env.interactive
	for _, wrong := range []struct {
		found   bool
		message string
	}{
		{cfg.sandbox && ownStore, "--sandbox has its own store; unset --store, --must-exist and --require-sync"},
		{len(env.sockets) > 0 && isSet("addr"), "systemd passes a socket to listen on; omit --addr and its variable"},
		{slices.Contains(env.sockets, nil), "systemd passes a socket that is not a stream"},
		{cfg.server.Drain < 0, "--drain must not be negative"},
		{(cfg.server.CertFile == "") != (cfg.server.KeyFile == ""), "set both --tls-cert and --tls-key"},
		{min(connections, requests) < 1 || max(connections, requests) > 1e6, "--max-connections and " +
			"--max-in-flight must be between 1 and 1000000"},
		{rate != 0 && !(rate >= 0.01 && rate <= 1e6), "--rate-limit must be 0, or between 0.01 and 1000000"}, // NaN, too
		{!slices.Contains([]string{"auto", "text", "json"}, cfg.logFormat), "--log-format must be auto, text or json"},
		{cfg.server.Profiles && cfg.adminAddr == "", "--pprof needs --admin-addr, where profiles are served"},
		{cfg.open.RequireSync && !env.store.Server, "--require-sync needs a store with standbys, such as PostgreSQL"},
		{env.store.Volatile && !cfg.sandbox && noKey, "the memory store has no key, and none can be added later; " +
			"set " + keysVariable},
	} {
		if wrong.found {
			return misuse("%s", wrong.message)
		}
	}
	return nil
}

// setUp configures the log, which hides keys, and the sandbox.
func (cfg *serveConfig) setUp(env *environment) {
	if cfg.sandbox {
		_ = env.store.Set("memory:")          // it is valid
		cfg.edge.AllowOrigins = []string{"*"} // its keys protect nothing
	}
	env.stderr.Hide(keys.Pattern(service.KeyPrefix), cfg.fixedKeys)
	asJSON := cfg.logFormat == "json" || cfg.logFormat == "auto" && !env.terminal
	env.logger = server.NewLogger(env.stderr, cfg.logLevel, asJSON)
	cfg.open.Logger, cfg.edge.Logger, cfg.server.Logger = env.logger, env.logger, env.logger
	cfg.edge.LogBlocked = env.stderr.Blocked
}

// serve runs the server until ctx ends or it fails.
func serve(ctx context.Context, env *environment, cfg *serveConfig) (err error) {
	endInTime := func() { env.exitAfter(cfg.server.Drain+stopTime, 1) }
	context.AfterFunc(ctx, endInTime)
	if err := refuseRoot(env, env.store.Path()); err != nil {
		return err
	}
	st, err := env.store.Open(ctx, env.store.Text, cfg.open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := listen(env, cfg); err != nil {
		return err
	}
	addMetrics(env, cfg)
	observed := store.Observe(st, cfg.edge.Metrics)
	keyring := keys.NewKeyring(observed, cfg.fixedKeys)
	handler, err := service.NewHandler(observed, keyring, cfg.edge)
	if err != nil {
		return err
	}
	cfg.server.Handler, cfg.server.Failed = handler, st.Failed()
	cfg.server.Stopping = func() { endInTime(); handler.Stopping() }
	srv, err := server.New(cfg.server)
	if err != nil {
		return err
	}

	working, done := context.WithCancel(context.WithoutCancel(ctx)) // a signal does not end it
	var background errgroup.Group
	background.Go(func() error { return keyring.RecordUses(working, env.logger) })
	background.Go(func() error { store.Background(working, st, env.logger); return nil })
	defer func() {
		done()
		err = errors.Join(err, background.Wait()) // before the store is closed
	}()
	base := cfg.edge.URL + handler.Base()
	switch {
	case cfg.sandbox:
		err = fillSandbox(working, env, st, base)
	case len(cfg.fixedKeys) == 0:
		err = offerKey(working, env, st, base)
	}
	if err != nil {
		return err
	}
	env.logger.Info("serving", "address", base, "docs", handler.DocsURL(),
		"socket", cfg.server.Listeners[0].Addr().String(), "store", env.store.String(), "version", version)
	env.serving = true
	return srv.Run(ctx)
}

// listen listens at --admin-addr, and at --addr unless systemd has opened sockets.
func listen(env *environment, cfg *serveConfig) (err error) {
	cfg.server.Listeners = env.sockets
	if len(env.sockets) == 0 {
		l, err := server.Listen(cfg.addr)
		if err != nil {
			return fmt.Errorf("--addr: %w", err)
		}
		cfg.server.Listeners = []net.Listener{l}
	}
	cfg.edge.URL = server.URL(cfg.server.Listeners[0].Addr(), cfg.server.CertFile != "")
	if cfg.sandbox && cfg.edge.PublicURL == "" {
		cfg.edge.PublicURL = cfg.edge.URL // it has no proxy in front
	}
	if cfg.adminAddr == "" {
		return nil
	}
	cfg.server.Admin, err = server.Listen(cfg.adminAddr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE): // another user of this machine must not stop the service
		env.logger.Error("serving without metrics: --admin-addr is in use", "error", err)
	case err != nil:
		return fmt.Errorf("--admin-addr: %w", err)
	default:
		env.logger.Info("serving metrics", "address", server.URL(cfg.server.Admin.Addr(), false)+"/metrics")
	}
	return nil
}

// addMetrics adds a registry. Metrics other than those of the process have the program's name as a prefix.
func addMetrics(env *environment, cfg *serveConfig) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := prometheus.WrapRegistererWithPrefix(service.Name+"_", registry)
	promauto.With(metrics).NewGauge(prometheus.GaugeOpts{
		Name: "build_info", Help: "The version of the program and the kind of its store.",
		ConstLabels: prometheus.Labels{"version": version, "store": env.store.Name},
	}).Set(1)
	cfg.edge.Metrics, cfg.server.Metrics, cfg.server.Gatherer = metrics, metrics, registry
}

// offerKey creates a key if the store has none, and prints it with the address base. Without a
// terminal or a host in base, it logs how to create a key.
func offerKey(ctx context.Context, env *environment, st keys.Store, base string) error {
	existing, err := st.Keys(ctx)
	if err != nil || len(existing) > 0 {
		return err
	}
	if !env.interactive || strings.HasPrefix(base, "/") {
		env.logger.Warn("the store has no API key yet, so every request is refused",
			"fix", service.Name+" keys create NAME --store "+env.store.String())
		return nil
	}
	token, err := createKey(ctx, st, "created at first start", false)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, `
The store had no API key, so here is one. It is shown only this once:

  %s

Try it:

  curl -H 'Authorization: Bearer %s' %s/pets

`, token, token, base)
	return err
}

func createKey(ctx context.Context, st keys.Store, name string, readOnly bool) (token string, err error) {
	k, token, err := keys.New(service.KeyPrefix, name, readOnly, time.Now(), 0)
	if err != nil {
		return "", err
	}
	return token, st.CreateKey(ctx, k)
}

// sandboxPets holds 300 pets from the outcome records of the Austin Animal Center, which the City of
// Austin publishes as open data. categoryId is 1 for dogs and 2 for cats.
//
//go:embed sandbox.ndjson
var sandboxPets string

// fillSandbox adds the pets of the sandbox, and prints two new keys and the address base.
func fillSandbox(ctx context.Context, env *environment, st store.Store, base string) error {
	d := json.NewDecoder(strings.NewReader(sandboxPets))
	d.DisallowUnknownFields()
	for d.More() {
		var p pets.NewPet // encoding/json ignores the case of names
		if err := d.Decode(&p); err != nil {
			return err
		}
		if _, err := st.CreatePet(ctx, p.WithDefaults(), pets.IdempotencyKey{}); err != nil {
			return err
		}
	}
	key, err := createKey(ctx, st, "sandbox", false)
	if err != nil {
		return err
	}
	readOnlyKey, err := createKey(ctx, st, "read-only", true)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "PETSTORE_URL=%s\nPETSTORE_KEY=%s\nPETSTORE_READ_ONLY_KEY=%s\n",
		base, key, readOnlyKey)
	return err
}
