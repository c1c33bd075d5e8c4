//go:build unix

// Command pgbench measures the service on PostgreSQL beside PostgreSQL's own
// pgbench, which sends the same statements to the same server without a service
// between. They take turns within one run, so that the other work of the machine
// meets both. `make bench-postgres` runs the command.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

func main() {
	debug.SetGCPercent(250) // as serve does
	var cfg config
	flag.StringVar(&cfg.petstore, "petstore", ".bin/petstore", "the program to measure")
	flag.IntVar(&cfg.clients, "clients", 16, "connections of the load, and clients of pgbench")
	flag.DurationVar(&cfg.slice, "slice", 2*time.Second, "how long each is loaded with each operation in each round, in whole seconds")
	flag.IntVar(&cfg.rounds, "rounds", 5, "rounds; the median counts")
	flag.StringVar(&cfg.operation, "operation", "", "measure only the operations whose names contain this")
	flag.StringVar(&cfg.out, "out", "", "write the figures to this file, as JSON")
	flag.Parse()
	if err := measure(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "pgbench:", err)
		os.Exit(1)
	}
}
