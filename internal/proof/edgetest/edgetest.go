// Package edgetest puts the whole service together for tests: the edge, the
// operations and the keyring over one store.
package edgetest

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
	"example.com/petstore/internal/pets/service"
	"example.com/petstore/internal/pets/web"
)

// New returns the service on a store. The fixed key opens it, and so do the keys of
// the store. It logs nothing. Each change alters the configuration; one that sets
// Base sets Service too, whose links begin with it.
func New(store pets.Store, key string, change ...func(*edge.Config)) (http.Handler, error) {
	keyring, err := keys.New(store, []string{key}, time.Now)
	if err != nil {
		return nil, err
	}
	cfg := edge.Config{
		Document:     gen.Document,
		Service:      service.New(store, edge.BasePath),
		Base:         edge.BasePath,
		Logger:       slog.New(slog.DiscardHandler),
		Authenticate: keyring.Authenticate,
		Ready:        store.Ping,
		QuickStart:   web.QuickStart,
		Samples:      web.Samples,
	}
	for _, c := range change {
		c(&cfg)
	}
	return edge.New(cfg)
}

// Must returns what New does, and ends the test where New fails.
func Must(t testing.TB, store pets.Store, key string, change ...func(*edge.Config)) http.Handler {
	t.Helper()
	handler, err := New(store, key, change...)
	if err != nil {
		t.Fatalf("putting the service together: got error %v", err)
	}
	return handler
}
