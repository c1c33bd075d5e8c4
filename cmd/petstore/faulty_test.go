package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keyring"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/service"
)

const faultyKey = "a-key-for-the-faulty-store"

// faultyStore fails whatever is asked of its pets. Its keys are not asked for.
type faultyStore struct {
	petstore.Store
	fail func() error
}

func (s faultyStore) CreatePet(context.Context, petstore.NewPet) (petstore.Pet, error) {
	return petstore.Pet{}, s.fail()
}

func (s faultyStore) Pet(context.Context, int64) (petstore.Pet, error) {
	return petstore.Pet{}, s.fail()
}

func (s faultyStore) Pets(context.Context, petstore.Query) (petstore.Page, error) {
	return petstore.Page{}, s.fail()
}

var failures = []struct {
	name string
	want int
	fail func() error
}{
	{"unavailable", 503, func() error {
		return &petstore.Error{Kind: petstore.Unavailable, Message: "the disk is full", Err: errors.New("SQL logic error")}
	}},
	{"internal", 500, func() error {
		return &petstore.Error{Kind: petstore.Internal, Message: "the database failed", Err: errors.New("SQL logic error")}
	}},
	{"an error of no kind", 500, func() error { return errors.New("SQL logic error at /var/lib/pets.db") }},
	{"panicking", 500, func() error { panic("SQL logic error") }},
}

// handlerOn returns the service on a store, put together as serve does it.
func handlerOn(t *testing.T, store petstore.Store) http.Handler {
	t.Helper()
	keys, err := keyring.New(store, []string{faultyKey}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := edge.New(edge.Config{
		Document:     gen.Document,
		Service:      service.New(store, edge.BasePath),
		Base:         edge.BasePath,
		Logger:       slog.New(slog.NewJSONHandler(io.Discard, nil)),
		Authenticate: keys.Authenticate,
		Ready:        func(context.Context) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}
