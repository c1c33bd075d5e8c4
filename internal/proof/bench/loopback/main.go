// Command loopback measures servers over the loopback interface: this service and
// its peers. Each has a process of its own on one processor, the load another
// processor. They take turns within one run, so that the other work of the machine
// meets them all. `make bench` runs the command.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"example.com/petstore/internal/proof/bench/peers"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "peer" {
		exit(peers.Serve(os.Args[2]))
	}
	var cfg config
	flag.StringVar(&cfg.petstore, "petstore", ".bin/petstore", "the program to measure")
	flag.IntVar(&cfg.connections, "connections", 32, "connections of the load")
	flag.DurationVar(&cfg.slice, "slice", time.Second, "how long each server is loaded with each operation in each round, in whole seconds")
	flag.IntVar(&cfg.rounds, "rounds", 13, "rounds; ratios are taken within each of them, and their median counts")
	flag.StringVar(&cfg.only, "only", "", "measure only the servers whose names contain this")
	flag.StringVar(&cfg.operation, "operation", "", "measure only the operations whose names contain this")
	flag.StringVar(&cfg.out, "out", "", "write the figures to this file, as JSON")
	flag.Parse()
	exit(measure(cfg))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "loopback:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
