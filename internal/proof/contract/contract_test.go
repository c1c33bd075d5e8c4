package contract

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/sqlite"
)

// TestContract tests the service on the memory and SQLite stores, or, if URL is
// set, only the server there:
//
//	make contract URL=http://127.0.0.1:8080/v1 KEY=…
//
// READ_ONLY_KEY, OTHER_KEY, EXPIRED_KEY and REVOKED_KEY enable the cases that
// need them.
func TestContract(t *testing.T) {
	if url := os.Getenv("URL"); url != "" {
		Run(t, Server{
			URL: url, Key: os.Getenv("KEY"), OtherKey: os.Getenv("OTHER_KEY"),
			ReadOnlyKey: os.Getenv("READ_ONLY_KEY"), ExpiredKey: os.Getenv("EXPIRED_KEY"), RevokedKey: os.Getenv("REVOKED_KEY"),
		})
		return
	}
	t.Run("memory", func(t *testing.T) { onStore(t, memory.New()) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		onStore(t, s)
	})
}

func onStore(t *testing.T, st store.Store) {
	t.Helper()
	h, server := newService(t, st)
	server.URL = serve(t, h)
	Run(t, server)
}

// newService returns the service on a store, and a key of each kind.
func newService(t *testing.T, st store.Store) (http.Handler, Server) {
	t.Helper()
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	create := func(change func(*keys.Key)) string {
		k, token, err := keys.New("test", time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		change(&k)
		if err := st.CreateKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if k.Name == "revoked" {
			if _, err := st.RevokeKey(t.Context(), k.ID, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		return token
	}
	h, err := program.NewHandler(st, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h, Server{
		Key:         program.Key,
		OtherKey:    create(func(*keys.Key) {}),
		ReadOnlyKey: create(func(k *keys.Key) { k.ReadOnly = true }),
		ExpiredKey:  create(func(k *keys.Key) { k.ExpiresAt = k.CreatedAt }),
		RevokedKey:  create(func(k *keys.Key) { k.Name = "revoked" }),
	}
}

func serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	s := program.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + example.Base()
}
