//go:build postgres && torture

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// dice are a round's own, and printed: SEED=… ROUNDS=1 throws them again.
func dice(t *testing.T, round int) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("SEED: got %q, want a number", s)
		}
	}
	t.Logf("round %d: SEED=%d", round, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func rounds(t *testing.T) int {
	t.Helper()
	s := os.Getenv("ROUNDS")
	if s == "" {
		return 3
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("ROUNDS: got %q, want a number from 1 on", s)
	}
	return n
}

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Millisecond) }

func TestTortureTheLeaderOfAPatroniCluster(t *testing.T) {
	c := startPatroni(t, 3)
	leader := c.leader(t, nil, time.Minute)
	pgtest.Exec(t, leader.address("postgres", "postgres"), "CREATE ROLE petstore LOGIN PASSWORD '"+dbPassword+"'", "GRANT pg_monitor TO petstore", "CREATE DATABASE pets OWNER petstore")
	c.whole(t) // before, no standby is synchronous
	address := c.address("petstore", "pets")
	replicas := [2]*replica{startReplica(t, address, "--require-sync"), startReplica(t, address, "--require-sync")}
	l := startPatientLoad(t, 8, func(n int) *replica { return replicas[n%2] })
	for round := range rounds(t) {
		d := dice(t, round+1)
		l.more(t, 200+d.IntN(800))
		old := c.leader(t, nil, time.Minute)
		before := l.forgetStall()
		start := time.Now()
		// The killed refuse connections at once, the frozen keep theirs and
		// do not respond until their watchdog ends them. The relieved hand over.
		what := []string{"killed", "frozen", "relieved"}[round%3]
		t.Logf("round %d: %s is %s", round+1, old.name, what)
		switch what {
		case "killed":
			old.kill()
		case "frozen":
			old.freeze()
		case "relieved":
			go old.relieve(t)
		}
		next := c.leader(t, old, 2*time.Minute)
		promoted, led := time.Now(), since(start)
		l.more(t, 1)
		first := since(promoted)
		l.more(t, d.IntN(500))
		if what != "relieved" {
			c.run(t, old)
		}
		c.whole(t)
		t.Logf("round %d: %s was %s after %d acknowledgements, %s leads after %v; first acknowledgement %v after the promotion, %v without any, whole again after %v",
			round+1, old.name, what, before, next.name, led, first, l.forgottenStall(), since(start))
	}
	l.finish()
	l.check(t, replicas[0], 0)
}

func TestTortureAPrimaryThatIsKilledOrHangs(t *testing.T) {
	for round := range rounds(t) {
		for _, hang := range []bool{false, true} {
			t.Run(fmt.Sprintf("round %d hangs %t", round+1, hang), func(t *testing.T) {
				d := dice(t, round+1)
				c := startCluster(t)
				l := startLoad(t, 4+d.IntN(13), d.IntN(2) == 0, c.route)
				l.more(t, 100+d.IntN(900))
				if hang {
					c.primary.Hang()
				} else {
					c.primary.Kill()
				}
				time.Sleep(time.Duration(d.Int64N(int64(time.Second)))) // until the failure is noticed
				c.standby.Promote(t)
				promoted := time.Now()
				l.more(t, 1)
				t.Logf("first acknowledgement %v after the promotion", since(promoted))
				l.more(t, 100+d.IntN(900))
				l.finish()
				l.check(t, c.replicas[d.IntN(2)], 0)
			})
		}
	}
}

func TestTortureARollingRestart(t *testing.T) {
	for round := range rounds(t) {
		t.Run(fmt.Sprintf("round %d", round+1), TestARollingRestartUnderLoadFailsNoRequest)
	}
}

// startPatientLoad starts clients that send a request again, with the same
// idempotency key, until it has a final response. Patroni takes longer to find a new
// leader than a request may take.
func startPatientLoad(t *testing.T, clients int, route func(n int) *replica) *load {
	l := &load{route: route, keyed: true, stop: make(chan struct{}), acknowledged: map[string]int64{}, last: time.Now()}
	for i := range clients {
		l.wait.Go(func() { l.patientClient(t.Context(), strconv.Itoa(i)) })
	}
	return l
}

func (l *load) patientClient(ctx context.Context, name string) {
	c := &http.Client{Timeout: clientWaits}
	defer c.CloseIdleConnections()
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		pet := name + "-" + strconv.Itoa(n)
		start := time.Now()
		for {
			resp, err := ask(ctx, c, http.MethodPost, l.route(int(l.requests.Add(1))).url+"/v1/pets", `{"name":"`+pet+`","categoryId":1}`, map[string]string{"Idempotency-Key": pet})
			again := err != nil || resp.status >= http.StatusInternalServerError
			if !again || time.Since(start) > 3*time.Minute {
				l.note(pet, resp, err, start)
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// forgetStall has the longest time without an acknowledgement begin anew, and
// returns how many there were.
func (l *load) forgetStall() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stall = 0
	return len(l.acknowledged)
}

func (l *load) forgottenStall() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stall.Round(time.Millisecond)
}
