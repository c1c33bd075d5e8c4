package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/peers"
	"example.com/petstore/internal/proof/bench/rig"
)

// subject is a server with one operation, and its rounds so far.
type subject struct {
	server            *rig.Server
	operation, status string
	request           []byte

	memory   int64
	capacity []float64
	crowds   [][]crowd // by round
}

// crowd is one overload.
type crowd struct{ goodput, ofCapacity, refused, p99 float64 }

func measure(cfg config) error {
	dir, err := os.MkdirTemp("", "overload")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	subjects, err := start(cfg, dir)
	defer func() {
		for _, s := range subjects {
			s.server.Stop()
		}
	}()
	if err != nil {
		return err
	}
	for round := range cfg.rounds + 1 {
		for _, s := range subjects {
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %-8s %-16s", round, cfg.rounds, s.operation, s.server.Name)
			if err := s.load(cfg, round == 0); err != nil {
				return fmt.Errorf("%s, %s: %w", s.server.Name, s.operation, err)
			}
		}
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	figures := measured.Overload{AtCapacity: cfg.atCapacity, Times: cfg.times}
	for _, s := range subjects {
		figures.Servers = append(figures.Servers, s.figure(cfg))
	}
	fmt.Print(figures.Table())
	return measured.Write(cfg.out, figures)
}

// start starts a server for each operation, so that what is created makes no list
// longer.
func start(cfg config, dir string) ([]*subject, error) {
	const constant, memory, sqlite = peers.NameConstant, "petstore memory", "petstore sqlite"
	list := subject{operation: "list", status: "200", request: rig.Get("/v1/pets?limit=20")}
	create := subject{operation: "create", status: "201", request: rig.Post(`{"name":"Frank","categoryId":1,"status":"pending"}`)}
	var subjects []*subject
	for _, of := range []struct {
		name    string
		subject subject
	}{{constant, list}, {memory, list}, {sqlite, list}, {constant, create}, {memory, create}, {sqlite, create}} {
		if !strings.Contains(of.name, cfg.only) {
			continue
		}
		s := of.subject
		var err error
		switch file := of.name + " " + s.operation; of.name {
		case constant:
			s.server, err = rig.StartPeer(of.name, dir, "peer", of.name)
		case memory:
			s.server, err = rig.Petstore{Name: of.name, Program: cfg.petstore, Dir: dir, Store: "memory:"}.Start()
		case sqlite:
			s.server, err = rig.Petstore{Name: of.name, Program: cfg.petstore, Dir: dir, Store: "sqlite:" + filepath.Join(dir, file+".db")}.Start()
		}
		if err != nil {
			return subjects, err
		}
		subjects = append(subjects, &s)
		if of.name != constant {
			if err := s.server.Fill(); err != nil {
				return subjects, err
			}
		}
	}
	return subjects, nil
}

// load is one round: the capacity, then each crowd.
func (s *subject) load(cfg config, warmUp bool) error {
	closed, err := rig.Load{Requests: [][]byte{s.request}, Connections: cfg.atCapacity, Duration: time.Second}.Run(s.server)
	if err != nil {
		return err
	}
	if warmUp {
		s.memory = s.server.PeakMemory()
	}
	var crowds []crowd
	for _, connections := range cfg.crowds {
		open, err := rig.OpenLoad{
			Request: s.request, Status: s.status, Rate: cfg.times * closed.PerSecond, Connections: connections, Duration: cfg.slice,
		}.Run(s.server)
		if err != nil {
			return err
		}
		crowds = append(crowds, crowd{open.PerSecond, open.PerSecond / closed.PerSecond, float64(open.Refused) / cfg.slice.Seconds(), float64(open.P99.Microseconds())})
	}
	if !warmUp {
		s.capacity, s.crowds = append(s.capacity, closed.PerSecond), append(s.crowds, crowds)
	}
	return nil
}

func (s *subject) figure(cfg config) measured.Overloaded {
	figure := measured.Overloaded{
		Server: s.server.Name, Operation: s.operation, Capacity: measured.SpreadOf(s.capacity),
		MemoryCapacity: s.memory, Memory: s.server.PeakMemory(),
	}
	for i, connections := range cfg.crowds {
		spread := func(value func(crowd) float64) measured.Spread {
			var values []float64
			for _, round := range s.crowds {
				values = append(values, value(round[i]))
			}
			return measured.SpreadOf(values)
		}
		figure.Crowds = append(figure.Crowds, measured.Crowded{
			Connections: connections,
			Goodput:     spread(func(c crowd) float64 { return c.goodput }),
			OfCapacity:  spread(func(c crowd) float64 { return c.ofCapacity }),
			Refused:     spread(func(c crowd) float64 { return c.refused }),
			P99Micros:   spread(func(c crowd) float64 { return c.p99 }),
		})
	}
	return figure
}
