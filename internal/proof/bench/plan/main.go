//go:build unix

// Command plan measures what a request costs the service, the database and the
// network, predicts from it how many mixed requests two shares of a processor hold,
// and measures that. It needs Linux and root. `make bench-plan` runs the command;
// deploy/how-far.md is written from its figures.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var cfg config
	flag.StringVar(&cfg.petstore, "petstore", ".bin/petstore", "the program to measure")
	flag.IntVar(&cfg.clients, "clients", 64, "connections of the load")
	flag.DurationVar(&cfg.slice, "slice", 2*time.Second, "how long each operation is measured in each round, in whole seconds")
	flag.IntVar(&cfg.rounds, "rounds", 5, "rounds; the median counts")
	flag.Float64Var(&cfg.service, "service", 0.7, "the part of a processor that the service may use in the measurement of the prediction")
	flag.Float64Var(&cfg.primary, "primary", 0.25, "the same for the primary")
	flag.StringVar(&cfg.out, "out", "", "write the figures to this file, as JSON")
	flag.Parse()
	if err := measure(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}
