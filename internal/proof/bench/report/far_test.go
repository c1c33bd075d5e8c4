package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/petstore/internal/proof/bench/measured"
)

// With one processor and one kind of request there is a formula (M/M/1): the time of a
// request is exponential around mean/(1-utilization).
func TestTheSimulationAgreesWithTheTheoryOfOneProcessor(t *testing.T) {
	s := station{processors: 1, means: []float64{100}, shares: []float64{1}}
	for _, u := range []float64{0.5, 0.7, 0.85} {
		times := s.sojourns(rand.New(rand.NewPCG(3, 4)), u, 1_000_000)
		slices.Sort(times)
		got, want := times[len(times)*99/100], -math.Log(0.01)*100/(1-u)
		if math.Abs(got/want-1) > 0.05 {
			t.Errorf("at %.0f %%: got a p99 of %.0f µs, want %.0f", 100*u, got, want)
		}
	}
}

func TestMoreProcessorsQueueLessAtTheSameUtilization(t *testing.T) {
	one := station{processors: 1, means: []float64{100}, shares: []float64{1}}
	many := one
	many.processors = 16
	if a, b := p99([]station{one}, 0.85), p99([]station{many}, 0.85); b > a/3 {
		t.Errorf("got a p99 of %.0f µs with 1 processor and %.0f with 16, want far less", a, b)
	}
}

func TestAPlanMovesReadsToStandbysBeforeThePrimaryEnds(t *testing.T) {
	p := planner{measured.Plan{Questions: 0.05, Costs: []measured.Cost{
		{Operation: "list", Service: 50, Primary: 60, Standby: 70},
		{Operation: "get", Service: 30, Primary: 20, Standby: 30},
		{Operation: "create", Service: 60, Primary: 50, Standby: 25, Replay: 20, WAL: 300},
	}}}
	if s := p.step(1e3); s.readsFromStandbys || s.replicas != 2 || s.standbys != 2 {
		t.Errorf("a thousand: got %+v, want two replicas, reads from the primary and two standbys", s)
	}
	s := p.step(1e6)
	if !s.readsFromStandbys || s.standbys < 2 || s.primary >= 1e6*47/1e6/utilization {
		t.Errorf("a million: got %+v, want reads from standbys", s)
	}
	if want := "the replay on a standby, which is one process: 333 % of its end"; s.bottleneck != want {
		t.Errorf("a million: got the bottleneck %q, want %q", s.bottleneck, want)
	}
}
