// Command overload measures how much of its capacity the service keeps when three
// times as many requests arrive. `make bench-overload` runs it.
//
// The capacity is the rate of a closed loop. Then requests arrive at three times
// that rate, whatever the server does, at a number of connections. Each takes a
// free connection; where all wait for a response, it is lost before the server, as
// behind a proxy that has so many. One processor cannot send more.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"example.com/petstore/internal/proof/bench/peers"
)

type config struct {
	petstore   string
	atCapacity int
	crowds     []int
	times      float64
	slice      time.Duration
	rounds     int
	only       string
	out        string
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "peer" {
		exit(peers.Serve(os.Args[2]))
	}
	cfg := config{crowds: []int{128, 1000}} // the second is more than may call the store and wait for it
	flag.StringVar(&cfg.petstore, "petstore", ".bin/petstore", "the program to measure")
	flag.IntVar(&cfg.atCapacity, "connections", 32, "connections of the closed loop that finds the capacity")
	flag.Float64Var(&cfg.times, "times", 3, "requests that arrive, for each of the capacity")
	flag.DurationVar(&cfg.slice, "slice", 500*time.Millisecond, "how long each overload takes in each round, after a second at capacity")
	flag.IntVar(&cfg.rounds, "rounds", 11, "rounds; ratios are taken within each of them, and their median counts")
	flag.StringVar(&cfg.only, "only", "", "measure only the servers whose names contain this")
	flag.StringVar(&cfg.out, "out", "", "write the figures to this file, as JSON")
	flag.Parse()
	exit(measure(cfg))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
