package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge"
	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/keys"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/web"
)

// serveConfig is the configuration of `petstore serve`.
type serveConfig struct {
	program.Settings
	store                string
	mustExist            bool
	requireSync, sandbox bool
	check                bool
	misspelt             []program.Misspelt
	reads                string
	apiKeys              []string
}

func serveCommand(env environment) *cobra.Command {
	var cfg serveConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the operations of openapi.yaml",
		Long: `serve serves the operations of openapi.yaml below /v1. Beside them stand the
probes /livez and /readyz, the document at /openapi.yaml and /openapi.json, and at
/docs a page to read it and try it on.

Every operation needs an API key: make one with "petstore keys create NAME",
also while the server runs. Where the store has no key yet and a person sits at
the terminal, the first start makes one and shows it.

PETSTORE_API_KEYS adds fixed keys, separated by commas, each at least 16
characters of A-Z a-z 0-9 - . _ ~ + / (RFC 6750). PETSTORE_API_KEYS_FILE names a
file of such keys, one on each line, which keeps them out of lists of processes
and containers. Without a terminal, the store memory: has no other keys.

--sandbox is for the tests of client teams: a store in memory with the same 300
real animals at every start. Standard output has its address (PETSTORE_URL=…) and,
unless PETSTORE_API_KEYS gives one, an API key (PETSTORE_KEY=…). Scripts of pages at
localhost may read its responses (CORS).

SIGTERM ends the server without cutting a connection. For the time of --drain it
serves on, /readyz says no, and every response asks its client to leave
(Connection: close, GOAWAY). Then connections are closed as they go quiet. SIGINT
skips the drain. A second signal ends the server at once.`,
		Example: `  petstore serve
  petstore serve --addr :8080 --store sqlite:/srv/pets.db
  petstore serve --store postgres://petstore@db1,db2/pets
  petstore serve --sandbox`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.apiKeys, err = fixedKeys(env.getenv); err != nil {
				return err
			}
			cfg.misspelt = misspelt(env, cmd)
			if cfg.sandbox {
				if err := enterSandbox(cmd.Flags(), &cfg); err != nil {
					return err
				}
			}
			return serve(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &cfg.store)
	flags.BoolVar(&cfg.mustExist, "must-exist", false, "refuse to start where the SQLite file is not there, instead of making one: its volume may not be mounted")
	flags.BoolVar(&cfg.requireSync, "require-sync", false, "refuse to start where PostgreSQL would acknowledge a write that no standby has, or no synchronous standby is there")
	program.AddChoice(flags, &cfg.reads, "reads", "primary", "where PostgreSQL reads animals: primary, or standbys, which serve exactly what the primary would and leave it all other reads", "primary", readStandbys)
	cfg.AddFlags(flags)
	flags.BoolVar(&cfg.sandbox, "sandbox", false, "serve 300 animals from memory, with a new key, to scripts at localhost too; a restart resets it")
	flags.BoolVar(&cfg.check, "check", false, "check the configuration, the certificate, the keys and the store, say what would be served, and end; changes nothing and takes no port")
	return cmd
}

func (cfg serveConfig) storeOptions(logger *slog.Logger) []store.Option {
	options := []store.Option{store.Notify(
		func(path string) { logger.Info("made a new store", "path", path) },
		func(message string) { logger.Warn(message) },
	)}
	if cfg.mustExist {
		options = append(options, store.MustExist)
	}
	return options
}

// serve runs the server until it is told to stop, or cannot go on.
func serve(ctx context.Context, env environment, cfg serveConfig) error {
	if cfg.PublicURL != "" { // whether or not the operator wrote the version segment
		cfg.PublicURL = strings.TrimSuffix(strings.TrimRight(cfg.PublicURL, "/"), web.BasePath) + web.BasePath
	}
	return program.Run(ctx, program.Config{
		Settings: cfg.Settings, Version: programVersion(), Misspelt: cfg.misspelt, Secrets: cfg.apiKeys, KeyPattern: web.KeyPattern,
		Getenv: env.getenv, Stderr: env.stderr, StderrIsTerminal: env.stderrIsTerminal,
	}, func(ctx context.Context, p *program.Program) error {
		if cfg.check {
			return checkServe(ctx, env, cfg, p)
		}
		return serveStore(ctx, env, cfg, p)
	})
}

// serveStore serves a store by a program. Each step takes back its own effects at the
// end, the last step first.
func serveStore(ctx context.Context, env environment, cfg serveConfig, p *program.Program) (err error) {
	if err := store.LookFile(cfg.store); err != nil { // which needs no port
		return err
	}
	if err := p.Listen(ctx); err != nil { // before a store is made
		return err
	}
	st, err := openServed(ctx, cfg, p.Logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	served, figures := st, []prometheus.Collector(nil)
	if p.Metrics != nil {
		timed := store.Observe(st)
		served, figures = timed, append(figures, timed)
	}
	keyring, stopRecording, err := openKeyring(cfg, p.Logger, served)
	if err != nil {
		return err
	}
	defer stopRecording() // before the store is closed
	if err := offerKey(ctx, env, p.Logger, cfg, served, keyring, p.URL()); err != nil {
		return err
	}
	s := web.Service(programVersion(), served, served.Ping, keyring, p.PublicURL)
	s.Failed, s.LocalOrigins, s.Collectors = st.Failed(), cfg.sandbox, append(figures, keyring)
	kind, _, _ := strings.Cut(cfg.store, ":")
	p.Labels = prometheus.Labels{"commit": programCommit(), "store": kind}
	return edge.Serve(ctx, p, s, "store", store.Redact(cfg.store))
}

// openKeyring returns the keys of the store and the fixed ones, and has the store
// record their use until stop is called.
func openKeyring(cfg serveConfig, logger *slog.Logger, st pets.Store) (keyring *keys.Keyring, stop func(), err error) {
	keyring, err = keys.New(st, cfg.apiKeys, time.Now)
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

// readStandbys is the value of --reads for reads by standbys.
const readStandbys = "standbys"

// openServed opens the store, checks that it keeps --require-sync and --reads, and
// fills the store of a sandbox.
func openServed(ctx context.Context, cfg serveConfig, logger *slog.Logger) (pets.Store, error) {
	st, err := store.Open(ctx, cfg.store, cfg.storeOptions(logger)...)
	if err != nil {
		return nil, err
	}
	err = cfg.checkCluster(ctx, st, logger)
	if err == nil && cfg.sandbox {
		err = fillSandbox(ctx, st)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	store.Monitor(st, logger, cfg.requireSync)
	return st, nil
}

// checkCluster returns an error where the store's cluster does not keep --require-sync
// or --reads, by which st then reads.
func (cfg serveConfig) checkCluster(ctx context.Context, st pets.Store, logger *slog.Logger) (err error) {
	if cfg.requireSync {
		err = store.RequireSync(ctx, st)
	}
	if err == nil && cfg.reads == readStandbys {
		err = store.ReadStandbys(ctx, st, logger)
	}
	return err
}

// offerKey makes sure that the server can be used: there is a key, or a way to one.
func offerKey(ctx context.Context, env environment, logger *slog.Logger, cfg serveConfig, st pets.KeyStore, keyring *keys.Keyring, url string) error {
	if cfg.sandbox {
		return showSandbox(ctx, env, st, keyring, url)
	}
	return ensureKey(ctx, env, logger, cfg, st, keyring, url)
}
