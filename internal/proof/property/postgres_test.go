//go:build linux && postgres

package property

import (
	"os"
	"testing"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	testProperties(t, func() store.Store {
		s, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
