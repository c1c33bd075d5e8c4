package program

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/service"
)

// NewHandler returns the service on a store, in this process. It accepts Key and
// the keys in the store. log may be nil.
func NewHandler(store pets.Store, log *slog.Logger) (*edge.Server, error) {
	ring, err := keys.NewKeyring(store, []string{Key}, time.Now)
	if err != nil {
		return nil, err
	}
	return service.NewServer(store, ring, "test", edge.Options{Logger: log})
}

// NewServer serves h on a local port until the server is closed.
func NewServer(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.DisableGeneralOptionsHandler = true
	s.Start()
	return s
}
