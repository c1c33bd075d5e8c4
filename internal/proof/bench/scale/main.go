// Command scale measures whether the service costs the same with ten million pets
// as with ten thousand. It fills two databases and serves each by a process of its
// own. It sends both the same requests in turns: first requests that a fresh process
// has not seen, then requests that it remembers. `make bench-scale` runs the
// command.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// fewPets is how many pets the small database has.
const fewPets = 10_000

type config struct {
	petstore, dir string
	out           string
	pets, rounds  int
	connections   int
	slice         time.Duration
}

func main() {
	var cfg config
	flag.StringVar(&cfg.petstore, "petstore", ".bin/petstore", "the program to measure")
	flag.IntVar(&cfg.pets, "pets", 10_000_000, "how many pets the large database has")
	flag.StringVar(&cfg.dir, "dir", "", "keep the databases in this folder, and use those that are there; otherwise they are temporary")
	flag.IntVar(&cfg.rounds, "rounds", 7, "rounds; ratios are taken within each of them, and their median counts")
	flag.IntVar(&cfg.connections, "connections", 32, "connections of the load")
	flag.DurationVar(&cfg.slice, "slice", time.Second, "how long each database is asked in each round, what it remembers and what not, in whole seconds")
	flag.StringVar(&cfg.out, "out", "", "write the figures to this file, as JSON")
	flag.Parse()
	if err := run(context.Background(), cfg); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg config) error {
	if cfg.dir == "" {
		var err error
		if cfg.dir, err = os.MkdirTemp("", "scale"); err != nil {
			return err
		}
		defer os.RemoveAll(cfg.dir)
	}
	var databases []*database
	for _, pets := range []int{fewPets, cfg.pets} {
		path := filepath.Join(cfg.dir, fmt.Sprintf("pets-%d.db", pets))
		if err := fill(ctx, path, pets); err != nil {
			return err
		}
		databases = append(databases, &database{pets: pets, path: path})
	}
	return measure(cfg, databases[0], databases[1])
}
