package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/proof/contract/contracttest"
)

// ledger has the pets that clients were told are stored.
type ledger struct {
	mu    sync.Mutex
	pets  map[int64]pet
	reach chan struct{} // closed once there are limit pets
	limit int
}

func (l *ledger) add(p pet) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if twin, twice := l.pets[p.ID]; twice {
		return fmt.Errorf("id %d: got it for %+v and for %+v, want it once", p.ID, twin, p)
	}
	l.pets[p.ID] = p
	if len(l.pets) == l.limit {
		close(l.reach)
	}
	return nil
}

// next sets how many pets more the ledger takes until it says so.
func (l *ledger) next(more int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reach, l.limit = make(chan struct{}), len(l.pets)+more
	return l.reach
}

// TestWhatWasAcknowledgedSurvivesKillMinus9 kills the server amid the creates
// of many clients, again and again on one database.
func TestWhatWasAcknowledgedSurvivesKillMinus9(t *testing.T) {
	t.Parallel()
	const rounds, clients = 4, 8
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	judge := contracttest.NewJudge(t)
	acknowledged := &ledger{pets: map[int64]pet{}}
	database := "sqlite:" + t.TempDir() + "/pets.db"

	server := startProcess(t, judge, "--store", database)
	for round := range rounds {
		enough := acknowledged.next(1 + random.IntN(300))
		var running sync.WaitGroup
		for client := range clients {
			running.Go(func() { createUntilItEnds(t, server, acknowledged, fmt.Sprint(round, "-", client)) })
		}
		<-enough
		server.signal(t, syscall.SIGKILL)
		running.Wait()
		if state := server.wait(t); state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("round %d: got %v, want the process killed", round, state)
		}
		server = startProcess(t, judge, "--store", database)
		wantAll(t, server, acknowledged, (round+1)*clients)
	}
}

// createUntilItEnds creates pets until the server is gone.
func createUntilItEnds(t *testing.T, server *process, acknowledged *ledger, name string) {
	for i := 0; ; i++ {
		sent := pet{Name: fmt.Sprintf("%s-%d é🐱", name, i), CategoryID: int64(i) << 40, Status: []string{"available", "pending", "sold"}[i%3]}
		var created pet
		response, err := server.call("POST", "/v1/pets", sent, &created)
		if err != nil {
			return // the outcome of this one is unknown
		}
		sent.ID = created.ID
		if response.StatusCode != http.StatusCreated || created != sent {
			t.Errorf("created: got %d %+v, want 201 %+v", response.StatusCode, created, sent)
			return
		}
		if err := acknowledged.add(created); err != nil {
			t.Error(err)
			return
		}
	}
}

// wantAll checks that every acknowledged pet is there exactly once, and beside
// them at most as many as were under way at the kills.
func wantAll(t *testing.T, server *process, acknowledged *ledger, underWay int) {
	t.Helper()
	walked := map[int64]pet{}
	last := int64(0)
	for _, p := range server.walk(t) {
		if p.ID <= last {
			t.Errorf("the walk: got id %d after %d, want them ascending", p.ID, last)
		}
		last, walked[p.ID] = p.ID, p
	}
	for id, want := range acknowledged.pets {
		if got := walked[id]; got != want {
			t.Errorf("pet %d of the walk: got %+v, want %+v", id, got, want)
		}
		var got pet
		if response, err := server.call("GET", fmt.Sprint("/v1/pets/", id), nil, &got); err != nil || got != want {
			t.Errorf("GET of pet %d: got %v %+v (%v), want %+v", id, response, got, err, want)
		}
	}
	if extra := len(walked) - len(acknowledged.pets); extra > underWay {
		t.Errorf("pets without a response: got %d, want at most %d", extra, underWay)
	}
	t.Logf("%d acknowledged, %d found", len(acknowledged.pets), len(walked))
}
