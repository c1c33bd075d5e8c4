//go:build postgres

package main

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// cluster is a primary with a synchronous standby, and two replicas of the
// service that know both.
type cluster struct {
	primary, standby *pgtest.Server
	replicas         [2]*replica
}

func startCluster(t *testing.T, args ...string) *cluster {
	c := startServers(t)
	c.serve(t, pgtest.Addresses("postgres", c.primary, c.standby), args...)
	return c
}

// startServers starts a cluster without replicas.
func startServers(t *testing.T) *cluster {
	c := &cluster{primary: pgtest.Start(t)}
	c.standby = c.primary.Standby(t, "one")
	c.primary.Configure(t, map[string]string{"synchronous_standby_names": "one"})
	pgtest.Eventually(t, 20*time.Second, "the standby becoming synchronous", func() bool {
		return pgtest.Query[int](t, c.primary.Address("postgres"), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
	})
	return c
}

func (c *cluster) serve(t *testing.T, address string, args ...string) {
	for i := range c.replicas {
		c.replicas[i] = startReplica(t, address, append(args, "--require-sync")...)
	}
}

func (c *cluster) route(n int) *replica { return c.replicas[n%len(c.replicas)] }

func TestThePrimaryIsKilledUnderLoadAndTheStandbyPromoted(t *testing.T) {
	t.Parallel()
	for _, client := range []struct {
		name  string
		keyed bool
		waits time.Duration
		reads string
	}{
		{"clients without idempotency keys", false, clientWaits, "primary"},
		{"clients with idempotency keys that wait 3 s", true, impatience, "primary"},
		{"clients who read what they wrote, from standbys", false, clientWaits, readStandbys},
	} {
		t.Run(client.name, func(t *testing.T) {
			c := startCluster(t, "--reads", client.reads)
			l := startLoadOf(t, 16, client.keyed, client.reads == readStandbys, client.waits, c.route)
			l.more(t, 500)
			c.primary.Kill()
			c.standby.Promote(t)
			promoted := time.Now()
			l.more(t, 1)
			t.Logf("first acknowledgement %v after the promotion", time.Since(promoted).Round(time.Millisecond))
			l.more(t, 500)
			l.finish()
			l.check(t, c.replicas[1], 0)
		})
	}
}

func TestThePrimaryHangsUnderLoadAndTheStandbyIsPromoted(t *testing.T) {
	t.Parallel()
	for _, reads := range []string{"primary", readStandbys} {
		t.Run("reads from "+reads, func(t *testing.T) {
			c := startCluster(t, "--reads", reads)
			l := startLoadOf(t, 16, false, reads == readStandbys, clientWaits, c.route)
			l.more(t, 500)
			c.primary.Hang()
			c.standby.Promote(t)
			l.more(t, 500)
			l.finish()
			l.check(t, c.replicas[0], 0)
		})
	}
}

func TestAPrimaryThatHangsForAMomentLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, reads := range []string{"primary", readStandbys} {
		t.Run("reads from "+reads, func(t *testing.T) {
			c := startCluster(t, "--reads", reads)
			l := startLoad(t, 16, false, c.route)
			l.more(t, 200)
			c.primary.Hang()
			time.Sleep(1300 * time.Millisecond) // the outage: longer than hangProbeInterval, and shorter than outageWait by what a busy machine takes to recover
			c.primary.Resume()
			l.more(t, 200)
			l.finish()
			l.check(t, c.replicas[0], 0)
		})
	}
}

func TestAStandbyThatIsKilledHangsAndComesBackFailsNoRequest(t *testing.T) {
	t.Parallel()
	c := startServers(t)
	second := c.primary.Standby(t, "two")
	c.serve(t, pgtest.Addresses("postgres", c.primary, c.standby, second), "--reads", readStandbys)
	l := startLoadOf(t, 16, false, true, clientWaits, c.route)
	l.more(t, 200)
	second.Hang()
	l.more(t, 200)
	second.Resume()
	l.more(t, 200)
	second.Kill()
	l.more(t, 200)
	second.Restart(t)
	c.standby.Hang()
	time.Sleep(time.Second) // the outage: longer than a standby has for a read
	c.standby.Resume()
	l.more(t, 200)
	l.finish()
	l.check(t, c.replicas[0], 0)
}

func TestADatabaseThatIsGoneIs503AndComesBackWithoutARestart(t *testing.T) {
	t.Parallel() // it mostly waits
	server := pgtest.Start(t)
	r := startReplica(t, server.Address("postgres"))
	client := &http.Client{Timeout: 6 * time.Second} // a 503 comes before the 8 s of the edge are over
	post := func() response {
		resp, err := ask(t.Context(), client, http.MethodPost, r.url+"/v1/pets", `{"name":"Rex","categoryId":1}`, nil)
		if err != nil {
			t.Errorf("creating: got error %v, want a response", err)
		}
		return resp
	}
	if resp := post(); resp.status != http.StatusCreated {
		t.Fatalf("before: got %d %s, want 201", resp.status, resp.body)
	}
	server.Kill()
	var asked sync.WaitGroup
	asked.Go(func() { wantUnavailable(t, r, post()) })
	asked.Go(func() {
		resp, err := ask(t.Context(), client, http.MethodGet, r.url+"/v1/pets", "", nil)
		if err != nil {
			t.Errorf("listing: got error %v, want a response", err)
		}
		wantUnavailable(t, r, resp)
	})
	asked.Wait()
	server.Restart(t)
	pgtest.Eventually(t, 20*time.Second, "being ready again", func() bool { return r.status(t, "/readyz") == http.StatusOK })
	if resp := post(); resp.status != http.StatusCreated {
		t.Fatalf("afterwards: got %d %s, want 201", resp.status, resp.body)
	}
	if n := len(listAll(t, r)); n != 2 {
		t.Errorf("got %d pets, want 2", n)
	}
}

func wantUnavailable(t *testing.T, r *replica, resp response) {
	t.Helper()
	if resp.status != http.StatusServiceUnavailable || resp.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s with Retry-After %q, want 503 with one", resp.status, resp.body, resp.header.Get("Retry-After"))
	}
	if got := r.status(t, "/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("/readyz: got %d, want 503", got)
	}
	if got := r.status(t, "/livez"); got != http.StatusOK {
		t.Errorf("/livez: got %d, want 200", got)
	}
}

func TestAnExhaustedPoolIs503AndRecovers(t *testing.T) {
	t.Parallel() // it mostly waits
	address := pgtest.Database(t)
	r := startReplica(t, withParameter(address, "pool_max_conns=2"))
	client := &http.Client{Timeout: clientWaits}
	release := pgtest.Lock(t, address, "LOCK TABLE pets IN ACCESS EXCLUSIVE MODE")
	responses := make(chan response)
	create := func() {
		resp, err := ask(t.Context(), client, http.MethodPost, r.url+"/v1/pets", `{"name":"Rex","categoryId":1}`, nil)
		if err != nil {
			t.Errorf("creating: got error %v, want a response", err)
		}
		responses <- resp
	}
	const writes = 6
	for taken := range writes {
		go create()
		if taken < 2 { // each a connection of its own: those that come at once share one
			pgtest.Eventually(t, 20*time.Second, "a connection being taken", func() bool {
				return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_locks WHERE NOT granted") == taken+1
			})
		}
	}
	count := map[int]int{}
	for range writes {
		resp := <-responses
		count[resp.status]++
		if resp.status == http.StatusServiceUnavailable {
			wantUnavailable(t, r, resp)
		}
	}
	// Two were sent and may yet be done; the others were not.
	if count[http.StatusServiceUnavailable] != writes-2 || count[http.StatusInternalServerError] != 2 {
		t.Errorf("got statuses %v, want %d times 503 and twice 500", count, writes-2)
	}
	release()
	pgtest.Eventually(t, 20*time.Second, "being ready again", func() bool { return r.status(t, "/readyz") == http.StatusOK })
	pgtest.Eventually(t, 20*time.Second, "the two that were sent being there, and no others", func() bool { return len(listAll(t, r)) == 2 })
}
