//go:build postgres

package main

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// withParameter adds a parameter to a store address.
func withParameter(address, parameter string) string {
	if strings.Contains(address, "?") {
		return address + "&" + parameter
	}
	return address + "?" + parameter
}

// balancer is a load balancer: it asks /readyz, and sends requests to the replicas
// that are ready.
type balancer struct {
	mu    sync.Mutex
	all   []*replica
	ready []*replica
}

func (b *balancer) add(r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, r)
	b.ready = append(b.ready, r)
}

// look asks all replicas once, at the same time.
func (b *balancer) look(t *testing.T) {
	b.mu.Lock()
	all := b.all
	b.mu.Unlock()
	isReady := make([]bool, len(all))
	var asking sync.WaitGroup
	for i, r := range all {
		asking.Go(func() { isReady[i] = r.status(t, "/readyz") == http.StatusOK })
	}
	asking.Wait()
	var ready []*replica
	for i, r := range all {
		if isReady[i] {
			ready = append(ready, r)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = append(ready, b.all[len(all):]...) // with those added meanwhile
}

func (b *balancer) has(r *replica) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, other := range b.ready {
		if other == r {
			return true
		}
	}
	return false
}

func (b *balancer) route(n int) *replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ready) == 0 { // any replica says so
		return b.all[n%len(b.all)]
	}
	return b.ready[n%len(b.ready)]
}

// drain is how long a replica that stops goes on responding: longer than the
// balancer takes to notice, and a client to connect, on a machine under load.
const drain = "3s"

func TestARollingRestartUnderLoadFailsNoRequest(t *testing.T) {
	address := withParameter(pgtest.Database(t), "pool_max_conns=8")
	rollOver(t, address, func() *replica { return startReplica(t, address, "--drain", drain) })
}

// rollOver replaces the replicas of this version, one after the other, by those
// that start starts, under load.
func rollOver(t *testing.T, address string, start func() *replica) {
	const replicas = 3
	b := &balancer{}
	var old []*replica
	for range replicas {
		r := startReplica(t, address, "--drain", drain)
		old = append(old, r)
		b.add(r)
	}
	looking, stopLooking := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looking)
		for {
			select {
			case <-stopLooking:
				return
			case <-time.After(50 * time.Millisecond):
				b.look(t)
			}
		}
	}()
	l := startLoad(t, 8, false, b.route)
	for _, r := range old {
		l.more(t, 100)
		b.add(start())
		l.more(t, 100)
		r.stop(t)
		if b.has(r) {
			t.Error("a replica that has ended is still asked; the balancer should have noticed while it drained")
		}
	}
	l.more(t, 100)
	l.finish()
	close(stopLooking)
	<-looking
	l.check(t, b.route(0), 0)
}

func TestAKeyIsKnownAndRevokedOnEveryReplicaSoon(t *testing.T) {
	t.Parallel()
	keysAreKnownAndRevoked(t, pgtest.Database(t))
}

func keysAreKnownAndRevoked(t *testing.T, address string) {
	replicas := [2]*replica{startReplica(t, address), startReplica(t, address)}
	stored := openStore(t, address)
	key, token := newStoredKey(t, stored)
	status := func(r *replica) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/pets", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := probes.Do(req)
		if err != nil {
			t.Fatalf("listing: got error %v", err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for i, r := range replicas {
		if got := status(r); got != http.StatusOK {
			t.Errorf("a new key at replica %d: got %d, want 200", i, got)
		}
	}
	if _, err := stored.RevokeKey(t.Context(), key.ID, time.Now()); err != nil {
		t.Fatalf("revoking: got error %v", err)
	}
	for i, r := range replicas {
		pgtest.Eventually(t, 5*time.Second, "a revoked key being refused", func() bool { return status(r) == http.StatusUnauthorized })
		t.Logf("replica %d refuses it", i)
	}
}
