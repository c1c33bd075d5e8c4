// Package petstoretest puts the pet store together for tests: the edge, the operations
// and the keyring over one store.
package petstoretest

import (
	"net/http"
	"testing"
	"time"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
	"example.com/petstore/internal/pets/web"
)

// Config is the pet store as a test changes it.
type Config struct {
	edge.Service
	Methods api.StrictServerInterface // of the operations
}

// New returns the service on a store. The fixed key opens it, and so do the keys of
// the store. It logs nothing. Each change alters the configuration; one that sets
// PublicURL sets Methods too, whose links begin with it.
func New(store pets.Store, key string, change ...func(*Config)) (http.Handler, error) {
	keyring, err := keys.New(store, []string{key}, time.Now)
	if err != nil {
		return nil, err
	}
	c := Config{Service: web.Service("test", store, store.Ping, keyring, ""), Methods: web.Methods(store, "")}
	for _, f := range change {
		f(&c)
	}
	c.Operations = web.Operations(c.Methods)
	return edge.New(c.Service)
}

// Must returns what New does, and ends the test where New fails.
func Must(t testing.TB, store pets.Store, key string, change ...func(*Config)) http.Handler {
	t.Helper()
	handler, err := New(store, key, change...)
	if err != nil {
		t.Fatalf("putting the service together: got error %v", err)
	}
	return handler
}
