// Command scale measures whether the service costs the same with ten million
// pets as with a thousand: it fills two databases, serves each by a process of
// its own, and asks both the same questions in turns. `make bench-scale` runs
// it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/petstore/internal/bench/rig"
)

// fewPets is how many pets the small database has.
const fewPets = 1000

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
	flag.IntVar(&cfg.rounds, "rounds", 5, "rounds; the median counts")
	flag.IntVar(&cfg.connections, "connections", 32, "connections of the load")
	flag.DurationVar(&cfg.slice, "slice", 2*time.Second, "how long each database is asked each question in each round")
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
	var servers []*rig.Server
	for _, pets := range []int{fewPets, cfg.pets} {
		name := fmt.Sprintf("pets-%d", pets)
		path := filepath.Join(cfg.dir, name+".db")
		if err := fill(ctx, path, pets); err != nil {
			return err
		}
		s, err := rig.StartPetstore(name, cfg.petstore, "sqlite:"+path, cfg.dir)
		if err != nil {
			return err
		}
		defer s.Stop()
		servers = append(servers, s)
	}
	return measure(cfg, servers[0], servers[1])
}
