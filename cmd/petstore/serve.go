package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/edge/logging"
	"example.com/petstore/internal/edge/server"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/animals"
	"example.com/petstore/internal/pets/keys"
	"example.com/petstore/internal/pets/store"
	"example.com/petstore/internal/pets/web"
)

// serveConfig is the configuration of `petstore serve`.
type serveConfig struct {
	addr, store, publicURL string
	tlsCert, tlsKey        string
	drain                  time.Duration
	maxConnections         int
	maxInFlight            int
	rateLimit              float64
	trustedProxies         []netip.Prefix
	adminAddr              string
	pprof                  bool
	mustExist              bool
	requireSync, sandbox   bool
	reads                  string
	log                    logConfig
	apiKeys                []string
}

func serveCommand(env environment) *cobra.Command {
	var cfg serveConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the operations of openapi.yaml",
		Long: `serve serves the operations of openapi.yaml below /v1, and beside them
/livez, /readyz, /openapi.yaml and /openapi.json, and at /docs the same for people:
a page to read it and try it on.

Every operation needs an API key: make one with "petstore keys create NAME",
also while the server runs. Where the store has no key yet and a person sits at
the terminal, the first start makes one and shows it.

PETSTORE_API_KEYS adds fixed keys, separated by commas, each at least 16
characters of A-Z a-z 0-9 - . _ ~ + / (RFC 6750). PETSTORE_API_KEYS_FILE names a
file of such keys, one on each line, which keeps them out of lists of processes
and containers. Without a terminal, the store memory: gets its keys only so.

--sandbox is for the tests of client teams: a store in memory that holds the same
300 real animals at every start, an API key on standard output (PETSTORE_KEY=…,
after PETSTORE_URL=…) unless PETSTORE_API_KEYS gives one, and responses that scripts
of pages at localhost may read (CORS).

SIGTERM ends the server without cutting a connection: for the time of --drain it
serves on, /readyz says no, and every response asks its client to leave
(Connection: close, GOAWAY); then connections are closed as they go quiet. SIGINT
skips the drain. A second signal ends the server at once.`,
		Example: `  petstore serve
  petstore serve --addr 0.0.0.0:8080 --store sqlite:/var/lib/petstore/pets.db
  petstore serve --store postgres://petstore@db1,db2/pets --require-sync
  PETSTORE_API_KEYS=a-key-for-local-tests petstore serve --store memory:
  petstore serve --sandbox`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.apiKeys, err = fixedKeys(env.getenv); err != nil {
				return err
			}
			if cfg.sandbox {
				if err := enterSandbox(cmd.Flags(), &cfg); err != nil {
					return err
				}
			}
			if cfg.maxConnections == 0 {
				cfg.maxConnections = server.DefaultMaxConnections()
			}
			return serve(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&cfg.addr, "addr", "127.0.0.1:8080", "the address to listen on; :0 takes any free port")
	addStoreFlag(flags, &cfg.store)
	flags.BoolVar(&cfg.mustExist, "must-exist", false, "refuse to start where the SQLite file is not there, instead of making one: its volume may not be mounted")
	flags.StringVar(&cfg.publicURL, "public-url", "", "the address clients use, where a proxy stands between, such as https://pets.example.com/v1; links in responses become absolute")
	flags.StringVar(&cfg.tlsCert, "tls-cert", "", "the file of a certificate and its chain, in PEM form, to serve HTTPS with HTTP/1.1 and HTTP/2; loaded anew when it changes")
	flags.StringVar(&cfg.tlsKey, "tls-key", "", "the file of the private key of --tls-cert, in PEM form")
	addDurationFlag(flags, &cfg.drain, "drain", server.DefaultDrain, "how long to serve on after SIGTERM while /readyz says no, so that load balancers turn away first")
	flags.IntVar(&cfg.maxConnections, "max-connections", 0, "how many connections this process has at most; at the limit the longest idle one without a valid key is closed first; 0: 4096, or fewer where it may open fewer files")
	flags.IntVar(&cfg.maxInFlight, "max-in-flight", 256, "how many calls of the store this process has under way at most; twice as many may wait, others get 503 at once; several processes have as many each")
	flags.Float64Var(&cfg.rateLimit, "rate-limit", 0, "how many requests a second an API key may make of this process, others get 429; 0: any number; several processes allow as many each")
	addPrefixesFlag(flags, &cfg.trustedProxies, "trusted-proxies", "the proxies before this server, such as 127.0.0.1 or 10.0.0.0/8, whose X-Forwarded-For tells the log a client's address; repeat it or separate by commas")
	flags.StringVar(&cfg.adminAddr, "admin-addr", "", "the address of /metrics for Prometheus, such as 127.0.0.1:9090 or :9090, which is this machine's alone; none where it is empty")
	flags.BoolVar(&cfg.pprof, "pprof", false, "serve /debug/pprof/ at --admin-addr too; profiles can hold secrets")
	flags.BoolVar(&cfg.requireSync, "require-sync", false, "refuse to start where PostgreSQL would acknowledge a write that no standby has, or no synchronous standby is there")
	addChoiceFlag(flags, &cfg.reads, "reads", "primary", "where PostgreSQL reads animals: on its primary, or on its standbys, exactly as the primary would; a read that no standby can serve so is the primary's", "primary", readStandbys)
	addLogFlags(flags, &cfg.log)
	flags.BoolVar(&cfg.sandbox, "sandbox", false, "serve 300 animals from memory, with a new key, to scripts at localhost too; a restart resets it")
	return cmd
}

func (cfg serveConfig) storeOptions(logger *slog.Logger) []store.Option {
	options := []store.Option{store.Notify(func(message string) { logger.Warn(message) })}
	if cfg.mustExist {
		options = append(options, store.MustExist)
	}
	return options
}

// serve runs the server until it is told to stop, or cannot go on. Each step takes
// back its own effects at the end, the last step first.
func serve(ctx context.Context, env environment, cfg serveConfig) (err error) {
	ctx, stop := untilSignal(ctx)
	defer stop()
	if err := cfg.check(); err != nil {
		return err
	}
	logger, endLog, err := startLog(env, cfg)
	if err != nil {
		return err
	}
	defer endLog()
	tuneMemory(env.getenv, logger)
	srv, err := server.Listen(ctx, cfg.server(logger)) // before a store is made
	if err != nil {
		return err
	}
	defer func() { _ = srv.Close() }() // where Run has not done so
	st, err := openServed(ctx, cfg, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	observed, err := observe(ctx, cfg, logger, st, srv)
	if err != nil {
		return err
	}
	defer observed.close()
	keyring, stopRecording, err := openKeyring(cfg, logger, observed)
	if err != nil {
		return err
	}
	defer stopRecording() // before the store is closed
	handler, err := newHandler(cfg, logger, observed, keyring, srv)
	if err != nil {
		return err
	}
	if err := offerKey(ctx, env, logger, cfg, observed.store, keyring, srv.URL()); err != nil {
		return err
	}
	defer announce(ctx, env, logger, cfg, srv)()
	return srv.Run(ctx, handler, st.Failed())
}

// check completes the configuration, and returns an error where it makes no sense.
func (cfg *serveConfig) check() (err error) {
	if cfg.publicURL, err = publicBase(cfg.publicURL); err != nil {
		return err
	}
	if err := errors.Join(cfg.checkTLS(), cfg.checkLimits()); err != nil {
		return usageError{err}
	}
	return nil
}

// startLog starts the log on standard error.
func startLog(env environment, cfg serveConfig) (logger *slog.Logger, end func(), err error) {
	options, err := cfg.log.options(env, cfg.apiKeys)
	if err != nil {
		return nil, nil, err
	}
	logger, end = logging.New(env.stderr, options)
	return logger, end, nil
}

// openKeyring returns the keys of the store and the fixed ones, and has the store
// record their use until stop is called.
func openKeyring(cfg serveConfig, logger *slog.Logger, observed *observation) (keyring *keys.Keyring, stop func(), err error) {
	keyring, err = keys.New(observed.store, cfg.apiKeys, time.Now)
	if err != nil {
		return nil, nil, err
	}
	stopRecording := keyring.RecordUse()
	return keyring, func() {
		if err := stopRecording(); err != nil {
			logger.Warn("the last use of some keys was not stored", "error", err)
		}
	}, nil
}

// announce tells the log and systemd that the server serves, and systemd once it
// stops. The function that it returns ends the watch for that.
func announce(ctx context.Context, env environment, logger *slog.Logger, cfg serveConfig, srv *server.Server) (end func() bool) {
	supervisor := env.getenv("NOTIFY_SOCKET")
	logger.Info("serving", "address", srv.URL()+web.BasePath, "docs", srv.URL()+edge.DocsPath, "store", store.Redact(cfg.store), "version", programVersion())
	notify(supervisor, logger, notifyReady)
	return context.AfterFunc(ctx, func() { notify(supervisor, logger, notifyStopping) })
}

func (cfg serveConfig) server(logger *slog.Logger) server.Config {
	return server.Config{
		Addr: cfg.addr, CertFile: cfg.tlsCert, KeyFile: cfg.tlsKey,
		Logger: logger, Drain: cfg.drainAfter, MaxConnections: cfg.maxConnections,
	}
}

// drainAfter returns how long to serve on once the context has ended for that
// cause: a person who presses Ctrl-C does not want to wait.
func (cfg serveConfig) drainAfter(cause error) time.Duration {
	if i, ok := errors.AsType[*interruption](cause); ok && i.signal == syscall.SIGINT {
		return 0
	}
	return cfg.drain
}

// readStandbys is the value of --reads for reads by standbys.
const readStandbys = "standbys"

// openServed opens the store, checks that it keeps --require-sync and --reads, and
// fills the store of a sandbox.
func openServed(ctx context.Context, cfg serveConfig, logger *slog.Logger) (pets.Store, error) {
	st, err := store.Open(ctx, cfg.store, cfg.storeOptions(logger)...)
	if err != nil {
		return nil, err
	}
	if cfg.requireSync {
		err = store.RequireSync(ctx, st)
	}
	if err == nil && cfg.reads == readStandbys {
		err = store.ReadStandbys(ctx, st, logger)
	}
	if err == nil && cfg.sandbox {
		_, err = st.Load(ctx, animals.First(sandboxAnimals))
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	store.Monitor(st, logger, cfg.requireSync)
	return st, nil
}

// newHandler puts the service together.
func newHandler(cfg serveConfig, logger *slog.Logger, observed *observation, keyring *keys.Keyring, srv *server.Server) (http.Handler, error) {
	st := observed.store
	s := web.Service(programVersion(), st, func(ctx context.Context) error {
		if srv.Draining() {
			return &pets.Error{Kind: pets.Unavailable, Message: "the server is stopping"}
		}
		return st.Ping(ctx)
	}, keyring, cfg.publicURL)
	authenticate := s.Authenticate
	s.Authenticate = func(ctx context.Context, token string) (edge.Identity, error) {
		caller, err := authenticate(ctx, token)
		if err == nil {
			server.Trust(ctx)
		}
		return caller, err
	}
	s.Limits.Calls, s.Limits.Rate = cfg.maxInFlight, cfg.rateLimit
	s.Collectors = append(observed.collectors, keyring)
	s.Logger, s.LocalOrigins, s.TrustedProxies = logger, cfg.sandbox, cfg.trustedProxies
	if observed.registry != nil {
		s.Metrics = observed.registry
	}
	return edge.New(s)
}

// offerKey makes sure that the server can be used: there is a key, or a way to one.
func offerKey(ctx context.Context, env environment, logger *slog.Logger, cfg serveConfig, st pets.KeyStore, keyring *keys.Keyring, url string) error {
	if cfg.sandbox {
		return showSandbox(ctx, env, st, keyring, url)
	}
	return ensureKey(ctx, env, logger, cfg, st, keyring, url)
}
