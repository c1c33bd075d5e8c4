//go:build postgres && torture

package soak

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// cluster is a primary with a synchronous standby. Servers that have been
// replaced are gone for good.
type cluster struct {
	primary, standby *pgtest.Server
	standbys         int
}

func (c *cluster) address() string { return pgtest.Addresses("postgres", c.primary, c.standby) }

// addStandby gives the primary a new synchronous standby.
func (c *cluster) addStandby(t *testing.T) {
	t.Helper()
	c.standbys++
	name := fmt.Sprintf("standby%d", c.standbys)
	c.standby = c.primary.Standby(t, name)
	c.primary.Configure(t, map[string]string{"synchronous_standby_names": name})
	pgtest.Eventually(t, patience, "the standby becoming synchronous", func() bool {
		return pgtest.Query[int](t, c.primary.Address("postgres"), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
	})
}

// startPostgres starts three replicas on a cluster.
func startPostgres(t *testing.T, random *rand.Rand) *deployment {
	c := &cluster{primary: pgtest.Start(t)}
	c.addStandby(t)
	dir := t.TempDir()
	d := &deployment{random: random, ledger: newLedger()}
	for i := range 3 {
		d.servers = append(d.servers, newServer(t, fmt.Sprintf("postgres-%d", i), dir, func() []string {
			return []string{"--store", c.address(), "--require-sync"}
		}))
	}
	d.events = append(d.commonEvents(c.primary.Address("postgres"), dir),
		event{"a primary that hangs for a moment", 1, func(*testing.T) {
			c.primary.Hang()
			time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second)))) // how long the outage lasts
			c.primary.Resume()
		}},
		event{"a primary killed, its standby promoted", 1, func(t *testing.T) { d.failOver(t, c, c.primary.Kill) }},
		event{"a hung primary, its standby promoted", 1, func(t *testing.T) { d.failOver(t, c, c.primary.Hang) }},
	)
	// The address of the primary changes with each failover.
	d.events[importEvent].happen = func(t *testing.T) { d.importAnimals(t, c.address()) }
	d.events[keysEvent].happen = func(t *testing.T) { d.changeKeys(t, c.address()) }
	return d
}

// failOver ends the primary, promotes the standby, and gives it a new one. The
// replicas learn the new addresses by a rolling restart, as in a change of
// configuration.
func (d *deployment) failOver(t *testing.T, c *cluster, end func()) {
	end()
	time.Sleep(time.Duration(d.random.Int64N(int64(time.Second)))) // until the cluster's manager notices
	c.standby.Promote(t)
	old := c.primary
	c.primary = c.standby
	old.Kill() // fencing: a primary that hung must not come back
	c.addStandby(t)
	d.roll(t, syscall.SIGTERM)
}
