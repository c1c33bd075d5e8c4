package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/gen"
	"example.com/petstore/internal/animals"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keyring"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

// The server's times, each with its neighbours. A request must arrive whole,
// header and body, within readTimeout: 64 KiB at the pace of a modem. It is
// worked on for at most the edge's 8 s, and must be answered before
// writeTimeout, which starts with its header. idleTimeout outlasts the minute
// after which load balancers commonly drop a connection, so that they, and not
// this server, end it. shutdownTimeout stays below the half minute that
// supervisors commonly grant before they kill.
const (
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 20 * time.Second
)

// maxHeaderBytes is what the document promises to take; net/http allows 4 KiB
// more before it refuses.
const maxHeaderBytes = 32 << 10

// serveConfig is the configuration of `petstore serve`.
type serveConfig struct {
	addr, store, publicURL string
	drain                  time.Duration
	mustExist              bool
	requireSync, sandbox   bool
	apiKeys                []string
}

func serveCommand(env environment) *cobra.Command {
	var cfg serveConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the operations of openapi.yaml",
		Long: `serve answers the operations of openapi.yaml below /v1, and beside them
/livez, /readyz, /openapi.yaml and /openapi.json, and at /docs the same for people:
a page to read it and try it on.

Every operation needs an API key: make one with "petstore keys create NAME",
also while the server runs. Where the store has no key yet and a person sits at
the terminal, the first start makes one and shows it.

PETSTORE_API_KEYS adds fixed keys, separated by commas, each at least 16
characters of A-Z a-z 0-9 - . _ ~ + / (RFC 6750). PETSTORE_API_KEYS_FILE names a
file of such keys, one on each line, which keeps them out of lists of processes
and containers. Either is the only way to give the store memory: a key where
nobody sits at a terminal.

--sandbox is for the tests of client teams: a store in memory that holds the same
300 real animals at every start, an API key on standard output (PETSTORE_KEY=…,
after PETSTORE_URL=…) unless PETSTORE_API_KEYS gives one, and answers that scripts
of pages at localhost may read (CORS).

SIGTERM and SIGINT end the server once the requests under way are answered; a
second one ends it at once.`,
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
			return serve(cmd.Context(), env, cfg)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&cfg.addr, "addr", "127.0.0.1:8080", "the address to listen on; :0 takes any free port")
	addStoreFlag(flags, &cfg.store)
	flags.BoolVar(&cfg.mustExist, "must-exist", false, "refuse to start where the SQLite file is not there, instead of making one: its volume may not be mounted")
	flags.StringVar(&cfg.publicURL, "public-url", "", "the address clients use, where a proxy stands between, such as https://pets.example.com/v1; links in answers become absolute")
	addDurationFlag(flags, &cfg.drain, "drain", 0, "after a signal, go on answering for so long while /readyz says no, so that load balancers turn away first")
	flags.BoolVar(&cfg.requireSync, "require-sync", false, "refuse to start where PostgreSQL would acknowledge what no standby has")
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

// serve runs the server until it is told to stop, and returns why it had to
// stop otherwise.
func serve(ctx context.Context, env environment, cfg serveConfig) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop() // and so once the first signal is handled, the second kills

	base, err := linkBase(cfg.publicURL)
	if err != nil {
		return err
	}
	logger, flush := newLogger(env)
	defer flush()
	tuneMemory(env.getenv, logger)
	listener, err := listen(ctx, cfg.addr) // before a store is made
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // where no server has done so
	st, err := store.Open(ctx, cfg.store, cfg.storeOptions(logger)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if cfg.requireSync {
		if err := store.RequireSync(ctx, st); err != nil {
			return err
		}
	}

	if cfg.sandbox {
		if _, err := st.Load(ctx, animals.First(sandboxAnimals)); err != nil {
			return err
		}
	}
	keys, err := keyring.New(st, cfg.apiKeys, time.Now)
	if err != nil {
		return err
	}
	stopRecording := keys.RecordUse()
	defer func() { // before the store is closed
		if err := stopRecording(); err != nil {
			logger.Warn("the last use of some keys was not stored", "error", err)
		}
	}()
	var stopping atomic.Bool
	handler, err := edge.New(edge.Config{
		Document:     gen.Document,
		Service:      service.New(st, base),
		Base:         base,
		Logger:       logger,
		Authenticate: keys.Authenticate,
		Ready: func(ctx context.Context) error {
			if stopping.Load() {
				return &petstore.Error{Kind: petstore.Unavailable, Message: "the server is stopping"}
			}
			return st.Ping(ctx)
		},
		LocalOrigins: cfg.sandbox,
	})
	if err != nil {
		return err
	}
	if cfg.sandbox {
		err = showSandbox(ctx, env, st, keys, listener.Addr())
	} else {
		err = ensureKey(ctx, env, logger, cfg, st, keys, listener.Addr())
	}
	if err != nil {
		return err
	}

	server := &http.Server{
		Handler:                      handler,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // OPTIONS * is answered like everything else
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	here := "http://" + listener.Addr().String()
	logger.Info("serving", "address", here+edge.BasePath, "docs", here+edge.DocsPath, "store", store.Redact(cfg.store), "version", programVersion())
	notify(env.getenv, logger, notifyReady)

	select {
	case err := <-served:
		return err
	case err := <-st.Failed():
		logger.Error("the store failed for good", "error", err)
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	stop()
	stopping.Store(true)
	notify(env.getenv, logger, notifyStopping)
	logger.Info("stopping: no longer ready, the requests under way are answered")
	time.Sleep(cfg.drain)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("some requests were still under way after %v: %w", shutdownTimeout, errors.Join(err, server.Close()))
	}
	logger.Info("stopped")
	return nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: another program does; stop it or choose another --addr", addr)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %q: %w; choose another --addr, such as 127.0.0.1:8080", addr, err)
	}
	return l, nil
}
