//go:build postgres

package main

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// forFailovers are the settings of PgBouncer that the README asks for.
var forFailovers = []string{"server_login_retry = 0.1"}

// startClusterBehindPgBouncer starts a cluster whose replicas know the pooler
// alone, which leads to the primary until LeadTo.
func startClusterBehindPgBouncer(t *testing.T) (*cluster, *pgtest.Pooler) {
	c := startServers(t)
	pooler := c.primary.Pooler(t, forFailovers...)
	c.serve(t, pooler.Address(c.primary.Address("postgres")))
	return c, pooler
}

// The hung primary keeps its connections, and those of PgBouncer that statements
// wait on.
func TestThePrimaryBehindPgBouncerIsKilledOrHangsUnderLoadAndTheStandbyIsPromoted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*pgtest.Server)
		away time.Duration
	}{
		{"killed", (*pgtest.Server).Kill, 0},
		{"hung", (*pgtest.Server).Hang, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, pooler := startClusterBehindPgBouncer(t)
			l := startLoad(t, 16, false, cluster.route)
			l.more(t, 500)
			c.end(cluster.primary)
			time.Sleep(c.away) // longer than hangProbeInterval: this is the outage, not a wait for something
			cluster.standby.Promote(t)
			pooler.LeadTo(t, cluster.standby)
			led := time.Now()
			l.more(t, 1)
			t.Logf("first acknowledgement %v after PgBouncer leads to the successor", time.Since(led).Round(time.Millisecond))
			l.more(t, 500)
			l.finish()
			l.check(t, cluster.replicas[1], 0)
		})
	}
}

func TestPgBouncerIsEndedAndStartedAgainUnderLoad(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*pgtest.Pooler){"killed": (*pgtest.Pooler).Kill, "terminated": (*pgtest.Pooler).Terminate} {
		t.Run(name, func(t *testing.T) {
			c, pooler := startClusterBehindPgBouncer(t)
			l := startLoad(t, 16, false, c.route)
			for range 3 {
				l.more(t, 200)
				end(pooler)
				pooler.Restart(t)
			}
			l.more(t, 200)
			l.finish()
			l.check(t, c.replicas[0], 0)
		})
	}
}

// Writers wait for a lock and keep all the connections of PgBouncer's pool. What
// the service has sent, and PgBouncer holds back, may yet be done: it is a 500.
// A later caller is refused.
func TestPgBouncerWithoutAConnectionLeftIs503AndRecovers(t *testing.T) {
	t.Parallel() // it mostly waits
	const poolSize = 2
	server := pgtest.Start(t)
	direct := server.Address("postgres")
	r := startReplica(t, server.Pooler(t, append(forFailovers, "default_pool_size = "+strconv.Itoa(poolSize))...).Address(direct))
	l := startLoad(t, 8, false, func(int) *replica { return r })
	l.more(t, 50)
	release := pgtest.Lock(t, direct, "LOCK TABLE pets IN ACCESS EXCLUSIVE MODE")
	client := &http.Client{Timeout: clientWaits}
	pgtest.Eventually(t, 40*time.Second, "a write being refused", func() bool {
		resp, err := ask(t.Context(), client, http.MethodPost, r.url+"/v1/pets", `{"name":"Rex","categoryId":1}`, nil)
		if err != nil {
			t.Fatalf("creating: got error %v, want a response", err)
		}
		return resp.status == http.StatusServiceUnavailable && resp.header.Get("Retry-After") != "" &&
			r.status(t, "/readyz") == http.StatusServiceUnavailable && r.status(t, "/livez") == http.StatusOK
	})
	if n := pgtest.Query[int](t, direct, "SELECT count(*) FROM pg_locks WHERE NOT granted"); n > 5*poolSize {
		t.Errorf("got %d sessions that wait, want few more than the %d of PgBouncer's pool", n, poolSize)
	}
	release()
	pgtest.Eventually(t, 20*time.Second, "being ready again", func() bool { return r.status(t, "/readyz") == http.StatusOK })
	l.more(t, 50)
	l.finish()
	l.check(t, r, len(l.failed)) // none lost, none doubled
}
