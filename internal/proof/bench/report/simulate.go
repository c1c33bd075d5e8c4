package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
)

// station is processors that serve requests first come, first served. What a request
// takes there is drawn from an exponential distribution around a mean that is drawn
// from the mix, in microseconds.
type station struct {
	processors int
	means      []float64 // of each operation
	shares     []float64 // of each operation in the requests, 1 together
}

func (s station) mean() (sum float64) {
	for i, m := range s.means {
		sum += s.shares[i] * m
	}
	return sum
}

// sojourns simulates requests that arrive at random at a part of the station's
// capacity, and returns how long each was there, in microseconds. The first fifth,
// while the queue fills, does not count.
func (s station) sojourns(random *rand.Rand, utilization float64, requests int) []float64 {
	free := make(moments, s.processors)
	between := s.mean() / float64(s.processors) / utilization
	var now float64
	all := make([]float64, 0, requests)
	for range requests {
		now += exponential(random, between)
		start := max(now, free[0])
		free[0] = start + exponential(random, s.means[pick(random, s.shares)])
		all = append(all, free[0]-now)
		heap.Fix(&free, 0)
	}
	return all[requests/5:]
}

// p99 returns the 99th percentile of the time in several stations after one another,
// in microseconds, whose queues are independent of one another.
func p99(stations []station, utilization float64) float64 {
	const requests = 200_000
	random := rand.New(rand.NewPCG(1, 2)) // the documents have one and the same figure each time
	var sums []float64
	for _, s := range stations {
		times := s.sojourns(random, utilization, requests)
		if sums == nil {
			sums = times
			continue
		}
		for i, j := range random.Perm(len(sums)) {
			sums[i] += times[j]
		}
	}
	slices.Sort(sums)
	return sums[len(sums)*99/100]
}

func exponential(random *rand.Rand, mean float64) float64 {
	return -mean * math.Log(1-random.Float64())
}

func pick(random *rand.Rand, shares []float64) int {
	at := random.Float64()
	for i, share := range shares {
		if at -= share; at < 0 {
			return i
		}
	}
	return len(shares) - 1
}

// moments is when each processor is free, the earliest first.
type moments []float64

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i] < m[j] }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(any)          { panic("the processors are the same all the time") }
func (m *moments) Pop() any          { panic("the processors are the same all the time") }
