//go:build linux && postgres

package contract

import (
	"os"
	"testing"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func init() {
	stores["postgres"] = func(t *testing.T) store.Store {
		s, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
