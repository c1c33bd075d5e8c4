//go:build linux && postgres

package contract

import (
	"os"
	"testing"

	"example.com/petstore/internal/db/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func init() { stores["postgres"] = func(t *testing.T) string { return pgtest.Database(t) } }
