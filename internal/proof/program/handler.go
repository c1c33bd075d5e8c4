// Package program puts the service together for tests, in this process.
package program

import (
	"log/slog"
	"net/http"
	"net/http/httptest"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

// Key is a fixed API key that the handlers of this package accept.
const Key = "an-api-key-for-the-tests"

// NewHandler returns the service on a store, in this process. It accepts Key and
// the keys in the store. log may be nil.
func NewHandler(st store.Store, log *slog.Logger) (*edge.Handler, error) {
	return service.NewHandler(st, keys.NewKeyring(st, []string{Key}), edge.Options{Logger: log})
}

// NewServer serves h on a local port until the server is closed.
func NewServer(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.DisableGeneralOptionsHandler = true
	s.Start()
	return s
}
