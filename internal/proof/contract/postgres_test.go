//go:build linux && postgres

package contract

import (
	"testing"

	"example.com/petstore/internal/db/postgres/pgtest"
)

func init() { stores["postgres"] = func(t *testing.T) string { return pgtest.Start(t).Database(t) } }
