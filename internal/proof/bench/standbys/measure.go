//go:build unix

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/rig"
)

type config struct {
	petstore string
	clients  int
	slice    time.Duration
	rounds   int
	share    float64
	out      string
}

func measure(cfg config) (err error) {
	c, err := rig.NewCluster(2)
	if err != nil {
		return err
	}
	defer c.Remove()
	b := bench{config: cfg, cluster: c}
	others, err := rig.NewGroup(fmt.Sprintf("petstore-%d", os.Getpid()))
	if err != nil {
		return err
	}
	defer others.Remove()
	dir, err := os.MkdirTemp("", "standbys")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, start := range map[string]struct {
		to      **rig.Server
		servers []*pgtest.Server
		reads   string
	}{
		"from-primary": {&b.fromPrimary, c.Servers, "primary"},
		"from-one":     {&b.fromOne, c.Servers[:2], "standbys"},
		"from-two":     {&b.fromTwo, c.Servers, "standbys"},
	} {
		*start.to, err = rig.Petstore{
			Name: name, Program: cfg.petstore, Dir: dir,
			Store: pgtest.Addresses("postgres", start.servers...), Flags: []string{"--reads", start.reads},
		}.Start()
		if err != nil {
			return err
		}
		defer (*start.to).Stop()
		if err := others.Add((*start.to).PID()); err != nil {
			return err
		}
	}
	if err := errors.Join(c.Fill(animals), others.Add(os.Getpid())); err != nil {
		return err
	}
	figures, err := b.run()
	if err != nil {
		return err
	}
	fmt.Print(figures.Table())
	if err := measured.Write(cfg.out, figures); err != nil {
		return err
	}
	return figures.Check()
}

// animals is how many there are.
const animals = 10_000

// bench is one run: the servers of the database, and services that read from the
// primary, from one standby and from two.
type bench struct {
	config
	cluster                       *rig.Cluster
	fromPrimary, fromOne, fromTwo *rig.Server
}

func (b *bench) run() (measured.Standbys, error) {
	// A server that is held takes long to accept connections, so all are made before.
	for _, s := range []*rig.Server{b.fromPrimary, b.fromOne, b.fromTwo} {
		if _, err := b.list(s); err != nil {
			return measured.Standbys{}, err
		}
	}
	var byPrimary, byStandbys, saved, one, two, grown []float64
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "\rround %d of %d", round+1, b.rounds)
		if err := b.cluster.Hold(0); err != nil {
			return measured.Standbys{}, err
		}
		p, err := b.list(b.fromPrimary)
		if err != nil {
			return measured.Standbys{}, err
		}
		s, err := b.list(b.fromTwo)
		if err != nil {
			return measured.Standbys{}, err
		}
		byPrimary, byStandbys, saved = append(byPrimary, p.micros), append(byStandbys, s.micros), append(saved, p.micros/s.micros)
		if err := b.cluster.Hold(b.share); err != nil {
			return measured.Standbys{}, err
		}
		if p, err = b.list(b.fromOne); err != nil {
			return measured.Standbys{}, err
		}
		if s, err = b.list(b.fromTwo); err != nil {
			return measured.Standbys{}, err
		}
		one, two, grown = append(one, p.perSecond), append(two, s.perSecond), append(grown, s.perSecond/p.perSecond)
	}
	fmt.Fprintf(os.Stderr, "\r%30s\r", "")
	return measured.Standbys{
		Clients: b.clients, Share: b.share,
		ByPrimary: measured.SpreadOf(byPrimary), ByStandbys: measured.SpreadOf(byStandbys), Saved: measured.SpreadOf(saved),
		One: measured.SpreadOf(one), Two: measured.SpreadOf(two), Grown: measured.SpreadOf(grown),
	}, nil
}

// lists is one service in one round.
type lists struct {
	perSecond float64
	micros    float64 // processor time of the primary, a list
}

func (b *bench) list(s *rig.Server) (lists, error) {
	requests := make([][]byte, 4096)
	for i := range requests {
		requests[i] = rig.Get("/v1/pets?limit=20&after=" + strconv.Itoa(rand.N(animals-100)))
	}
	load := rig.Load{Requests: requests, Connections: b.clients, Duration: time.Second}
	if _, err := load.Run(s); err != nil { // standbys may have to become fit
		return lists{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	load.Duration = b.slice
	before, err := b.cluster.ProcessorTime(0)
	if err != nil {
		return lists{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	r, err := load.Run(s)
	if err != nil {
		return lists{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	after, err := b.cluster.ProcessorTime(0)
	return lists{r.PerSecond, float64((after - before).Nanoseconds()) / 1000 / float64(r.Requests)}, err
}
