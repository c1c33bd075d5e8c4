//go:build postgres && pgbouncer

package main

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/store/postgres/pgtest"
)

// forFailovers are the settings of PgBouncer that the README asks for.
var forFailovers = []string{"server_login_retry = 0.1"}

// startClusterBehindPgBouncer starts a cluster whose replicas know the pooler
// alone, which leads to the primary until somebody has it lead elsewhere.
func startClusterBehindPgBouncer(t *testing.T) (*cluster, *pgtest.Pooler) {
	c := startServers(t)
	pooler := c.primary.Pooler(t, forFailovers...)
	c.serve(t, pooler.Address(c.primary.Address("postgres")))
	return c, pooler
}

// The hung primary keeps its connections, and those of PgBouncer that statements
// wait on.
func TestThePrimaryBehindPgBouncerIsKilledOrHangsUnderLoadAndTheStandbyIsPromoted(t *testing.T) {
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
			time.Sleep(c.away) // longer than the service's patience: this is the outage, not a wait for something
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

// The service has connections left, and PgBouncer has none: what it was sent and
// holds back may yet be done.
func TestPgBouncerWithoutAConnectionLeftIs503AndRecovers(t *testing.T) {
	t.Parallel() // it mostly waits
	const writes, poolSize = 6, 2
	server := pgtest.Start(t)
	direct := server.Address("postgres")
	r := startReplica(t, server.Pooler(t, append(forFailovers, "default_pool_size = "+strconv.Itoa(poolSize))...).Address(direct))
	count, release := createBehindALock(t, r, direct, poolSize, writes)
	if count[http.StatusServiceUnavailable]+count[http.StatusInternalServerError] != writes {
		t.Errorf("got statuses %v, want 503 or, where the write may have been sent, 500", count)
	}
	if n := pgtest.Query[int](t, direct, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'petstore'"); n > 3*poolSize {
		t.Errorf("got %d sessions of the server, want few more than the %d of PgBouncer's pool", n, poolSize)
	}
	client := &http.Client{Timeout: clientWaits}
	pgtest.Eventually(t, 30*time.Second, "a write being refused before it is sent", func() bool {
		a, err := ask(t.Context(), client, http.MethodPost, r.url+"/v1/pets", `{"name":"Rex","categoryId":1}`, nil)
		if err != nil {
			t.Fatalf("creating: got error %v, want an answer", err)
		}
		count[a.status]++
		return a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" &&
			r.status(t, "/readyz") == http.StatusServiceUnavailable && r.status(t, "/livez") == http.StatusOK
	})
	release()
	pgtest.Eventually(t, 20*time.Second, "being ready again", func() bool { return r.status(t, "/readyz") == http.StatusOK })
	pgtest.Eventually(t, 20*time.Second, "everything that was sent being there once", func() bool {
		return pgtest.Query[int](t, direct, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0
	})
	if n := len(listAll(t, r)); n > count[http.StatusInternalServerError] {
		t.Errorf("got %d pets, want at most the %d that were sent", n, count[http.StatusInternalServerError])
	}
}
