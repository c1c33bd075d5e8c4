//go:build postgres

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clientWaits is how long a client of the load waits for a response. It is more
// than the longest time of the server (the edge's 8 s). So the load counts the
// failures of the server, and not the slowness of the machine.
const clientWaits = 20 * time.Second

// impatience is how long a client waits that may see no failover: longer than a
// primary takes to be replaced in these tests, shorter than people wait.
const impatience = 3 * time.Second

// load is clients that add pets, each with a name of its own, and keep a ledger
// of what they were told.
type load struct {
	route func(n int) *replica // the replica of the nth request
	keyed bool                 // whether requests carry an Idempotency-Key
	reads bool                 // whether each acknowledged pet is read at once
	waits time.Duration        // how long the clients wait for a response
	stop  chan struct{}
	wait  sync.WaitGroup

	mu           sync.Mutex
	acknowledged map[string]int64 // the pet's name → its identifier
	failed       []string
	longest      time.Duration // that a client waited for a response
	last         time.Time     // of the latest acknowledgement
	stall        time.Duration // the longest time without one
	requests     atomic.Int64
}

// startLoad starts that many clients.
func startLoad(t *testing.T, clients int, keyed bool, route func(n int) *replica) *load {
	return startLoadOf(t, clients, keyed, false, clientWaits, route)
}

// startLoadOf starts clients that wait so long for each response. Clients with
// idempotency keys try again after a failure, which counts all the same. If they
// read back, another replica has to return each pet as soon as it is acknowledged.
func startLoadOf(t *testing.T, clients int, keyed, readBack bool, waits time.Duration, route func(n int) *replica) *load {
	l := &load{route: route, keyed: keyed, reads: readBack, waits: waits, stop: make(chan struct{}), acknowledged: map[string]int64{}, last: time.Now()}
	for i := range clients {
		l.wait.Go(func() { l.client(t.Context(), strconv.Itoa(i)) })
	}
	return l
}

func (l *load) client(ctx context.Context, name string) {
	c := &http.Client{Timeout: l.waits, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer c.CloseIdleConnections()
	for n := 0; ; {
		select {
		case <-l.stop:
			return
		default:
		}
		pet := name + "-" + strconv.Itoa(n)
		header := map[string]string{}
		if l.keyed {
			header["Idempotency-Key"] = pet
		}
		start := time.Now()
		resp, err := ask(ctx, c, http.MethodPost, l.route(int(l.requests.Add(1))).url+"/v1/pets", `{"name":"`+pet+`","categoryId":1}`, header)
		acknowledged := l.note(pet, resp, err, start)
		if acknowledged && l.reads {
			l.readBack(ctx, c, pet, resp.header.Get("Location"))
		}
		if acknowledged || !l.keyed {
			n++
		}
	}
}

// readBack has another replica return the pet that was acknowledged just now.
func (l *load) readBack(ctx context.Context, c *http.Client, pet, location string) {
	start := time.Now()
	resp, err := ask(ctx, c, http.MethodGet, l.route(int(l.requests.Add(1))).url+location, "", nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(start))
	if err != nil || resp.status != http.StatusOK || !strings.Contains(string(resp.body), `"`+pet+`"`) {
		l.failed = append(l.failed, fmt.Sprintf("reading %s, just acknowledged: %d %s (error %v)", pet, resp.status, resp.body, err))
	}
}

// note enters a response, and reports whether the pet was acknowledged.
func (l *load) note(pet string, resp response, err error, start time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.longest = max(l.longest, now.Sub(start))
	var made struct{ ID int64 }
	switch {
	case err != nil:
		l.failed = append(l.failed, pet+": "+err.Error())
	case resp.status != http.StatusCreated:
		l.failed = append(l.failed, fmt.Sprintf("%s: %d %s", pet, resp.status, resp.body))
	case json.Unmarshal(resp.body, &made) != nil:
		l.failed = append(l.failed, pet+": a body that is no pet")
	default:
		l.acknowledged[pet] = made.ID
		l.stall = max(l.stall, now.Sub(l.last))
		l.last = now
		return true
	}
	return false
}

// count returns how many pets were acknowledged until now.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// more waits until that many more pets are acknowledged.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	before := l.count()
	for deadline := time.Now().Add(time.Minute); l.count() < before+n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d more acknowledgements: got %d within a minute; failed: %q", n, l.count()-before, l.some())
		}
	}
}

// some returns the first few failures. The caller holds mu, or has finished.
func (l *load) some() []string { return l.failed[:min(3, len(l.failed))] }

// finish stops the load and returns once the last request has its response.
func (l *load) finish() {
	close(l.stop)
	l.wait.Wait()
}

// check holds the ledger against the list of a replica: no acknowledged pet lost,
// none there twice, and no more requests failed than the test allows.
func (l *load) check(t *testing.T, r *replica, mayFail int) {
	t.Helper()
	lost, doubled := 0, 0
	there := listAll(t, r)
	times := map[string]int{}
	for _, name := range there {
		if times[name]++; times[name] == 2 {
			doubled++
		}
	}
	for name, id := range l.acknowledged {
		if there[id] != name {
			lost++
		}
	}
	t.Logf("acknowledged %d, lost %d, doubled %d, failed %d; longest response %v, longest time without one %v",
		len(l.acknowledged), lost, doubled, len(l.failed), l.longest.Round(time.Millisecond), l.stall.Round(time.Millisecond))
	if lost != 0 || doubled != 0 || len(l.failed) > mayFail {
		t.Errorf("got %d lost, %d doubled and %d failed (%q), want none lost, none doubled and at most %d failed", lost, doubled, len(l.failed), l.some(), mayFail)
	}
	if len(l.acknowledged) == 0 {
		t.Error("got nothing acknowledged, want something")
	}
}

// listAll walks over all pets and returns their names by identifier.
func listAll(t *testing.T, r *replica) map[int64]string {
	t.Helper()
	c := &http.Client{Timeout: clientWaits}
	defer c.CloseIdleConnections()
	all := map[int64]string{}
	for after := int64(0); ; {
		resp, err := ask(t.Context(), c, http.MethodGet, r.url+"/v1/pets?limit=100&after="+strconv.FormatInt(after, 10), "", nil)
		var pets []struct {
			ID   int64
			Name string
		}
		if err != nil || resp.status != http.StatusOK || json.Unmarshal(resp.body, &pets) != nil {
			t.Fatalf("listing: got %d %s (error %v), want a page", resp.status, resp.body, err)
		}
		for _, pet := range pets {
			all[pet.ID] = pet.Name
			after = pet.ID
		}
		if resp.header.Get("Link") == "" {
			return all
		}
	}
}
