package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"example.com/petstore/internal/pets/web"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/petstoretest"
)

const key = "a-key-for-the-tests-of-clients"

// server is the whole service in this process, on a free port.
type server struct {
	*httptest.Server
	asked atomic.Int32 // how many requests have come
}

// serve serves a store; links begin with base.
func serve(store pets.Store, base string) (*server, error) {
	handler, err := petstoretest.New(store, key, func(c *petstoretest.Config) { c.Methods = web.Methods(store, base) })
	if err != nil {
		return nil, err
	}
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		handler.ServeHTTP(w, r)
	}))
	return s, nil
}

// start serves a store for as long as the test takes.
func start(t *testing.T, store pets.Store, base string) (*server, *client.ClientWithResponses) {
	t.Helper()
	s, err := serve(store, base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, clientOf(t, s.URL+web.BasePath, key)
}

func clientOf(t *testing.T, base, key string) *client.ClientWithResponses {
	t.Helper()
	c, err := client.NewClientWithResponses(base, client.WithKey(key))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stocked returns a store of n pets. Every third is sold, the others available.
func stocked(t *testing.T, n int) *memory.Store {
	t.Helper()
	store := memory.New()
	for i := range n {
		p := pets.NewPet{Name: "Rex", CategoryID: 1, Status: pets.Available}
		if (i+1)%3 == 0 {
			p.Status = pets.Sold
		}
		if _, err := store.CreatePet(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// failsAfter is a store whose list fails from that position on.
type failsAfter struct {
	pets.Store
	position int64
}

func (s failsAfter) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	if q.After >= s.position {
		return pets.Page{}, &pets.Error{Kind: pets.Unavailable, Message: "the disk is full"}
	}
	return s.Store.Pets(ctx, q)
}
