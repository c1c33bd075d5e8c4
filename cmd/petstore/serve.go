package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"golang.org/x/net/idna"
	"golang.org/x/sync/errgroup"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

const defaultAddr = "127.0.0.1:8080"

// serveConfig is the configuration of petstore serve.
type serveConfig struct {
	store     string
	open      address.Options
	sandbox   bool
	fixedKeys []string

	addr, publicURL   string
	certFile, keyFile string
	drain             time.Duration
	maxConnections    int
	maxInFlight       int
	rateLimit         float64
	proxies           []string
	trustedProxies    []netip.Prefix // parsed from proxies
	allowOrigins      []string
	adminAddr         string
	profiles          bool
	logLevel          slog.Level
	logFormat         string
}

func serveCommand(env environment) *cobra.Command {
	var cfg serveConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the operations of openapi.yaml",
		Long: `serve serves the operations of openapi.yaml, and a page to try them at /docs. An
operation needs an API key: create one with "petstore keys create NAME", before or
while the server runs.

PETSTORE_API_KEYS adds fixed keys, separated by commas, each of at least 16
characters; PETSTORE_API_KEYS_FILE names a file with one key on each line.

--sandbox is for testing clients: it serves 300 pets from memory, the same at
every start, and prints PETSTORE_URL, PETSTORE_KEY and PETSTORE_READ_ONLY_KEY, whose
creates get a 403, as variables for a shell.

SIGTERM drains the server for --drain; SIGINT skips the drain. Requests in flight
then have 9 s to finish, and the process ends 3 s later, whatever hangs. A second
signal stops the server at once.`,
		Example: `  petstore serve --addr :8080 --store sqlite:/srv/pets.db
  petstore serve --store postgres://petstore@db1,db2/pets
  petstore serve --sandbox`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cfg.fixedKeys, err = fixedKeys(env.getenv); err != nil {
				return err
			}
			if err := cfg.check(cmd.Flags().Changed(storeFlag), env.interactive); err != nil {
				return err
			}
			return serve(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	flags.BoolVar(&cfg.open.MustExist, "must-exist", false, "fail if there is no store, for example because its volume is not mounted")
	flags.BoolVar(&cfg.open.RequireSync, "require-sync", false, "refuse to start unless PostgreSQL has a synchronous standby and waits for it")
	flags.StringVar(&cfg.addr, "addr", defaultAddr, "the `address` to listen on; :0 takes any free port")
	flags.StringVar(&cfg.publicURL, "public-url", "", "the `address` that clients use if there is a proxy in front, such as https://api.example.com/v1")
	flags.StringVar(&cfg.certFile, "tls-cert", "", "the `file` of a certificate and its chain (PEM), for HTTPS; read again when it changes")
	flags.StringVar(&cfg.keyFile, "tls-key", "", "the `file` of the private key of --tls-cert (PEM)")
	flags.DurationVar(&cfg.drain, "drain", 5*time.Second, "how long to keep serving after SIGTERM, while /readyz fails and responses ask the clients to reconnect")
	flags.IntVar(&cfg.maxConnections, "max-connections", server.DefaultMaxConnections, "how many connections may be open; others wait")
	flags.IntVar(&cfg.maxInFlight, "max-in-flight", edge.DefaultMaxInFlight, "how many requests may be in flight, three quarters of them with one key; as many may wait, and others get 503")
	flags.Float64Var(&cfg.rateLimit, "rate-limit", 0, "how many requests per second each key may send; others get 429; 0 for no limit")
	flags.StringSliceVar(&cfg.proxies, "trusted-proxies", nil, "the `networks` of proxies whose X-Forwarded-For is trusted, such as 127.0.0.1,10.0.0.0/8")
	flags.StringSliceVar(&cfg.allowOrigins, "allow-origins", nil, "the `origins` of web pages that may use the operations (CORS), such as https://app.example.com")
	flags.StringVar(&cfg.adminAddr, "admin-addr", "", "the `address` of /metrics, /livez and /readyz, such as 127.0.0.1:9090; empty for none")
	flags.BoolVar(&cfg.profiles, "pprof", false, "serve /debug/pprof/ at --admin-addr too; profiles can hold secrets")
	flags.TextVar(&cfg.logLevel, "log-level", slog.LevelInfo, "the minimum `level` to log: debug, info, warn or error")
	flags.StringVar(&cfg.logFormat, "log-format", "auto", "text, json, or auto, which is text at a terminal and else json")
	flags.BoolVar(&cfg.sandbox, "sandbox", false, "serve 300 pets from memory, and let web pages on localhost use them (CORS)")
	return cmd
}

// check completes and validates the configuration.
func (cfg *serveConfig) check(storeGiven, interactive bool) error {
	for _, addr := range []string{cfg.addr, cmp.Or(cfg.adminAddr, defaultAddr)} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return misuse("--addr and --admin-addr must be HOST:PORT, such as %s: %w", defaultAddr, err)
		}
	}
	switch {
	case cfg.drain < 0:
		return misuse("--drain must not be negative")
	case (cfg.certFile == "") != (cfg.keyFile == ""):
		return misuse("set both --tls-cert and --tls-key: the files of a certificate and its private key")
	case min(cfg.maxConnections, cfg.maxInFlight) < 1 || max(cfg.maxConnections, cfg.maxInFlight) > 1e6:
		return misuse("--max-connections and --max-in-flight must be between 1 and 1000000")
	case cfg.rateLimit != 0 && !(cfg.rateLimit >= 0.001 && cfg.rateLimit <= 1e6): // NaN too
		return misuse("--rate-limit must be between 0.001 and 1000000, or 0 for no limit")
	case !slices.Contains([]string{"auto", "text", "json"}, cfg.logFormat):
		return misuse("--log-format must be auto, text or json")
	case cfg.profiles && cfg.adminAddr == "":
		return misuse("--pprof needs --admin-addr, where profiles are served")
	case cfg.publicURL != "" && !publicURLForm.MatchString(cfg.publicURL):
		return misuse("--public-url must be a URI in ASCII without user, query or fragment, such as %s", encodedURL(cfg.publicURL))
	case cfg.sandbox && (storeGiven || cfg.open != address.Options{}):
		return misuse("--sandbox has its own store, in memory; omit --store, --must-exist and --require-sync, and their variables")
	case cfg.open.RequireSync && address.Kind(cfg.store) != "postgres":
		return misuse("--require-sync needs a postgres:// store, the only one with standbys")
	case cfg.sandbox:
		cfg.store = "memory:"
	case address.Kind(cfg.store) == "memory" && len(cfg.fixedKeys) == 0 && !interactive:
		return misuse("the memory store has no key, and none can be added later; set %s", keysVariable)
	}
	for _, origin := range cfg.allowOrigins {
		if !originForm.MatchString(origin) || strings.ToLower(origin) != origin {
			return misuse("--allow-origins: %q is no origin as browsers send it, such as https://app.example.com", origin)
		}
	}
	if cfg.sandbox {
		cfg.allowOrigins = append(cfg.allowOrigins, localOrigins...)
	}
	for _, text := range cfg.proxies {
		network, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil { // a network of one
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return misuse("--trusted-proxies: %q is no network, such as 10.0.0.0/8, and no address", text)
		}
		cfg.trustedProxies = append(cfg.trustedProxies, network)
	}
	return nil
}

// localOrigins are those of pages on this machine.
var localOrigins = []string{
	"http://localhost", "http://localhost:*", "http://127.0.0.1", "http://127.0.0.1:*", "http://[::1]", "http://[::1]:*",
	"https://localhost", "https://localhost:*", "https://127.0.0.1", "https://127.0.0.1:*", "https://[::1]", "https://[::1]:*",
}

// The forms of an origin as browsers send it, and of a public URL: a URI (RFC 3986) in
// ASCII, which can stand in a header, in YAML and in a shell command as it is.
const host = `([0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?`

var (
	originForm    = regexp.MustCompile(`^https?://` + host + `$`)
	publicURLForm = regexp.MustCompile(`^(?i:https?)://` + host + `(/([0-9A-Za-z._~-]|%[0-9A-Fa-f]{2})*)*$`)
)

// encodedURL returns a public URL as a URI, or an example if it has no such form.
func encodedURL(text string) string {
	if u, err := url.Parse(strings.TrimSpace(text)); err == nil {
		host, err := idna.Lookup.ToASCII(u.Hostname())
		if u.Port() != "" {
			host += ":" + u.Port()
		}
		encoded := u.Scheme + "://" + host + u.EscapedPath()
		if err == nil && publicURLForm.MatchString(encoded) {
			return encoded
		}
	}
	return "https://api.example.com/v1"
}

// stopTime is how long the process may take to end, once the drain is over.
const stopTime = 12 * time.Second

// endInTime ends the process in time, whatever hangs: PostgreSQL, a disk, or a log that
// nobody reads. Nothing acknowledged is lost, because it is already stored.
func (cfg serveConfig) endInTime() {
	time.AfterFunc(cfg.drain+stopTime, func() { os.Exit(1) })
}

// serve runs the server until it is told to stop or fails.
func serve(ctx context.Context, env environment, cfg serveConfig) error {
	context.AfterFunc(ctx, cfg.endInTime)
	text := cfg.logFormat == "text" || cfg.logFormat == "auto" && env.terminal
	log := &server.LogWriter{Writer: env.stderr}
	logger := edge.NewLogger(log, text, cfg.logLevel, keys.Pattern, cfg.fixedKeys...)
	cfg.open.Logger = logger
	if err := refuseRoot(cfg.store); err != nil {
		return err
	}
	st, err := openStore(ctx, env, cfg.store, cfg.open)
	if err == nil && cfg.sandbox {
		err = fillSandbox(ctx, st)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return errors.Join(advise(serveStore(ctx, env, cfg, log, logger, st), cfg.store), st.Close())
}

// serveStore listens, puts the handler and the server together, and runs them until
// ctx ends.
func serveStore(
	ctx context.Context, env environment, cfg serveConfig, log *server.LogWriter, logger *slog.Logger, st store.Store,
) (err error) {
	listener, err := net.Listen("tcp", cfg.addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	defer listener.Close()
	var admin net.Listener
	if cfg.adminAddr != "" {
		if admin, err = net.Listen("tcp", cfg.adminAddr); err != nil {
			return fmt.Errorf("--admin-addr: %w", err)
		}
		defer admin.Close()
	}
	url := server.URL(listener, cfg.certFile != "")
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := prometheus.WrapRegistererWithPrefix(service.Name+"_", registry)
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "build_info", Help: "The version of the program and the kind of its store.",
		ConstLabels: prometheus.Labels{"version": programVersion(), "store": address.Kind(cfg.store)},
	}, func() float64 { return 1 }))
	observed := store.Observe(st, metrics)
	keyring := keys.NewKeyring(observed, cfg.fixedKeys)
	handler, err := service.NewHandler(observed, keyring, edge.Options{
		Logger: logger, LogBlocked: log.Blocked, Metrics: metrics,
		URL: url, PublicURL: cfg.publicURL, TrustedProxies: cfg.trustedProxies,
		MaxInFlight: cfg.maxInFlight, RateLimit: cfg.rateLimit, AllowOrigins: cfg.allowOrigins,
	})
	if err != nil {
		return err
	}
	srv, err := server.New(server.Options{
		Handler: handler, Failed: st.Failed(),
		Stopping: func() { cfg.endInTime(); handler.Stopping() }, // also after a failure
		Listener: listener, CertFile: cfg.certFile, KeyFile: cfg.keyFile,
		MaxConnections: cfg.maxConnections, Drain: cfg.drain,
		Admin: admin, Gatherer: registry, Profiles: cfg.profiles,
		Logger: logger, Metrics: metrics,
	})
	if err != nil {
		return err
	}

	working, done := context.WithCancel(context.WithoutCancel(ctx)) // signals do not end it
	var background errgroup.Group
	background.Go(func() error { return keyring.RecordUses(working, logger) })
	background.Go(func() error { store.ForgetIdempotencyKeys(working, observed, logger); return nil })
	defer func() {
		done()
		err = errors.Join(err, background.Wait()) // before the store is closed
	}()
	if cfg.sandbox {
		err = printSandbox(working, env.stdout, observed, url+handler.Base())
	} else {
		err = cfg.offerKey(working, env, logger, observed, url, handler.Base())
	}
	if err != nil {
		return err
	}
	if admin != nil {
		logger.Info("serving metrics", "address", server.URL(admin, false)+"/metrics")
	}
	logger.Info("serving", "address", url+handler.Base(), "docs", url+"/docs",
		"store", address.Redact(cfg.store), "version", programVersion())
	return srv.Run(ctx)
}

// Environment variables for fixed keys. They have no flags: ps shows flags.
var (
	keysVariable     = variablePrefix + "API_KEYS"
	keysFileVariable = keysVariable + "_FILE"
)

// fixedKeys returns the keys in PETSTORE_API_KEYS or in the file that
// PETSTORE_API_KEYS_FILE names, separated by commas or white space.
func fixedKeys(getenv func(string) string) ([]string, error) {
	source, text := keysVariable, getenv(keysVariable)
	if path := getenv(keysFileVariable); path != "" {
		if text != "" {
			return nil, misuse("both %s and %s are set; unset one of them", keysVariable, keysFileVariable)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, misuse("%s: %w", keysFileVariable, err)
		}
		source, text = keysFileVariable+": "+path, string(content)
	}
	fixed := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if err := keys.CheckFixed(fixed); err != nil {
		return nil, misuse("%s: %w", source, err)
	}
	return fixed, nil
}

// printSandbox prints the address of a sandbox and new keys as shell variables.
func printSandbox(ctx context.Context, out io.Writer, st keys.Store, url string) error {
	token, err := createKey(ctx, st, "sandbox", false)
	if err != nil {
		return err
	}
	readOnly, err := createKey(ctx, st, "read-only", true)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, variablePrefix+"URL="+url)
	fmt.Fprintln(out, variablePrefix+"READ_ONLY_KEY="+readOnly)
	_, err = fmt.Fprintln(out, variablePrefix+"KEY="+token)
	return err
}

// offerKey creates and prints a key at a terminal if the store has none. Elsewhere it
// logs how to create one.
func (cfg serveConfig) offerKey(ctx context.Context, env environment, logger *slog.Logger, st keys.Store,
	url, base string,
) error {
	existing, err := st.Keys(ctx)
	if err != nil || len(cfg.fixedKeys)+len(existing) > 0 {
		return err
	}
	if !env.interactive {
		logger.Warn("the store has no API key yet, so every request is refused",
			"fix", service.Name+" keys create NAME --store "+address.Redact(cfg.store))
		return nil
	}
	token, err := createKey(ctx, st, "created at first start", false)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "\nThe store had no API key, so here is one. It is shown only this once:\n\n  %s\n\n", token)
	fmt.Fprintf(env.stdout, "Try it with curl, or in a browser at %s/docs:\n\n", url)
	_, err = fmt.Fprintf(env.stdout, "  curl -H 'Authorization: Bearer %s' %s%s/pets\n\n", token, url, base)
	return err
}

func createKey(ctx context.Context, st keys.Store, name string, readOnly bool) (token string, err error) {
	k, token, err := keys.New(name, time.Now(), 0)
	if err != nil {
		return "", err
	}
	k.ReadOnly = readOnly
	return token, st.CreateKey(ctx, k)
}

// sandboxPets holds 300 pets from the outcome records of the Austin Animal
// Center, which the City of Austin publishes as open data. categoryId is 1 for
// dogs, 2 for cats, 3 for birds, 4 for livestock and 5 for others.
//
//go:embed sandbox.ndjson
var sandboxPets string

// fillSandbox adds them as clients would.
func fillSandbox(ctx context.Context, st pets.Store) error {
	decode, err := service.BodyDecoder()
	if err != nil {
		return err
	}
	for body := range strings.Lines(sandboxPets) {
		p, err := decode([]byte(body))
		if err != nil {
			return err
		}
		if _, err := st.CreatePet(ctx, p, pets.IdempotencyKey{}); err != nil {
			return err
		}
	}
	return nil
}
