//go:build unix

// Command standbys measures lists that standbys serve: the processor time that the
// primary is spared, and how lists a second grow from one standby to two, with each
// server held to the same share of a processor. It needs Linux and root.
// `make bench-reads` runs the command.
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
	flag.DurationVar(&cfg.slice, "slice", 2*time.Second, "how long each is loaded in each round, in whole seconds")
	flag.IntVar(&cfg.rounds, "rounds", 5, "rounds; the median counts")
	flag.Float64Var(&cfg.share, "share", 0.1, "the part of a processor that each server may use")
	flag.StringVar(&cfg.out, "out", "", "write the figures to this file, as JSON")
	flag.Parse()
	if err := measure(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "standbys:", err)
		os.Exit(1)
	}
}
