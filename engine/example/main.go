// Command clinic is the service of a veterinary clinic: a second user of the library engine/, in a
// module of its own. It has nested resources, changes, removals, text, pictures and tokens.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/server"
)

func main() {
	if err := serve(server.UntilSignal(context.Background()), os.Args[1:], os.Getenv("CLINIC_KEYS")); err != nil {
		fmt.Fprintln(os.Stderr, "clinic:", err)
		os.Exit(1)
	}
}

// serve serves until ctx ends. The keys are fixed ones, separated by commas.
func serve(ctx context.Context, args []string, keys string) (err error) {
	flags := flag.NewFlagSet("clinic", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8080", "the `address` to listen on")
	address := flags.String("store", "clinic.db", "the `path` of an SQLite file, or postgres://…")
	issuer := flags.String("issuer", "", "accept tokens (JWT) of this `issuer`")
	audience := flags.String("audience", "clinic", "the `audience` of its tokens")
	keySet := flags.String("key-set", "", "the `URL` of its keys (JWKS)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	logger := server.NewLogger(os.Stderr, slog.LevelInfo, false)
	fixed, err := fixedKeys(keys)
	if err != nil {
		return err
	}
	var tokens *Tokens
	if *issuer != "" {
		if tokens, err = NewTokens(ctx, logger, *issuer, *audience, *keySet); err != nil {
			return fmt.Errorf("-key-set: %w", err)
		}
	}
	store, err := openStore(ctx, *address, db.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	listener, err := server.Listen(*addr)
	if err != nil {
		return err
	}
	handler, err := NewHandler(store, fixed, tokens, edge.Options{Logger: logger})
	if err != nil {
		return err
	}
	s, err := server.New(server.Options{
		Handler: handler, Stopping: handler.Stopping, Failed: store.Failed(),
		Listeners: []net.Listener{listener}, Drain: 5 * time.Second, Logger: logger,
	})
	if err != nil {
		return err
	}
	logger.Info("serving", "address", server.URL(listener.Addr(), false)+handler.Base())
	return s.Run(ctx)
}

// fixedKeys returns the callers of fixed keys, who may write.
func fixedKeys(text string) (map[string]edge.Caller, error) {
	callers := map[string]edge.Caller{}
	for key := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		if len(key) < 16 || !edge.IsBearerToken(key) {
			return nil, errors.New("a key of CLINIC_KEYS must have at least 16 letters and digits")
		}
		callers[key] = edge.Caller{ID: fmt.Sprintf("fixed-%.4x", sha256.Sum256([]byte(key))), MayWrite: true}
	}
	return callers, nil
}

// openStore opens a store. It is not nil, even with an error.
func openStore(ctx context.Context, address string, o db.Options) (Store, error) {
	if strings.HasPrefix(address, "postgres://") {
		d, err := postgresSchema.Open(ctx, address, o)
		return &postgresStore{d}, err
	}
	d, err := sqliteSchema.Open(ctx, address, o)
	return &sqliteStore{d}, err
}
