//go:build deploy

package deploy

import (
	"net/http"
	"os"
	"testing"

	"example.com/petstore/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func init() {
	faults["no standby"] = fault{[]string{"PetstoreNoSyncStandby"}, func(t *testing.T) ([]string, func(*http.Client, string)) {
		primary, standby := pgtest.Pair(t)
		return []string{"--store", primary.Address("postgres"), "--require-sync"}, func(*http.Client, string) { standby.Kill() }
	}}
}
