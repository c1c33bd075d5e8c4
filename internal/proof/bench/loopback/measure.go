package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/peers"
	"example.com/petstore/internal/proof/bench/rig"
)

type config struct {
	petstore        string
	connections     int
	slice           time.Duration
	rounds          int
	only, operation string
	out             string
}

// operation is a request to which every server responds alike.
type operation struct {
	name    string
	request []byte
}

// operations returns the operations whose names contain wanted.
func operations(wanted string) []operation {
	all := []operation{
		{"list", rig.Get("/v1/pets?limit=20")},
		{"filtered list", rig.Get("/v1/pets?limit=20&status=sold")},
		{get, rig.Get("/v1/pets/7")},
		{create, rig.Post(`{"name":"Frank","categoryId":1,"status":"pending"}`)},
	}
	return slices.DeleteFunc(all, func(op operation) bool { return !strings.Contains(op.name, wanted) })
}

func measure(cfg config) error {
	dir, err := os.MkdirTemp("", "loopback")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var servers []*rig.Server
	counting, err := startCounting(cfg, dir)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range servers {
			s.Stop()
		}
		if counting != nil {
			counting.Stop()
		}
	}()
	for _, name := range serverNames(cfg.only) {
		s, err := start(cfg, name, dir)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	figures, err := rounds(cfg, servers, counting)
	if err != nil {
		return err
	}
	fmt.Print(figures.Table())
	return measured.Write(cfg.out, figures)
}

const (
	onMemory = "petstore memory"
	onSQLite = "petstore sqlite"
	// scraped is onMemory with metrics, which are asked for each second. It is
	// loaded with gets alone, the cheapest requests.
	scraped = "petstore memory, metrics"

	get    = "get"
	create = "create"
)

func serverNames(wanted string) []string {
	var names []string
	for _, p := range peers.All() {
		names = append(names, p.Name)
	}
	names = append(names, onMemory, scraped, onSQLite)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, wanted) })
}

// start starts a server and gives this service the pets that the peers have.
func start(cfg config, name, dir string) (*rig.Server, error) {
	petstore := rig.Petstore{Name: name, Program: cfg.petstore, Store: "memory:", Dir: dir}
	switch name {
	case onMemory:
	case scraped:
		admin, err := rig.FreeAddr()
		if err != nil {
			return nil, err
		}
		petstore.Flags = []string{"--admin-addr", admin}
		go scrape("http://" + admin + "/metrics")
	case onSQLite:
		petstore.Store = "sqlite:" + filepath.Join(dir, "pets.db")
	default:
		return rig.StartPeer(name, dir, "peer", name)
	}
	s, err := petstore.Start()
	if err != nil {
		return nil, err
	}
	if err := s.Fill(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// scrape asks for metrics each second, as Prometheus would at most, until the
// program ends.
func scrape(url string) {
	for range time.Tick(time.Second) {
		if r, err := http.Get(url); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
	}
}

type cell struct{ server, operation string }

// rounds loads the servers in turns. One load before the rounds, which does not
// count, warms each of them up.
func rounds(cfg config, servers []*rig.Server, counting *countingServer) (measured.Loopback, error) {
	results := map[cell][]rig.Result{}
	var batches []float64
	for round := range cfg.rounds + 1 {
		for _, op := range operations(cfg.operation) {
			for _, s := range servers {
				if s.Name == scraped && op.name != get {
					continue
				}
				fmt.Fprintf(os.Stderr, "\rround %d of %d: %-13s %-24s", round, cfg.rounds, op.name, s.Name)
				r, err := load(cfg, op).Run(s)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", s.Name, op.name, err)
				}
				if round > 0 {
					results[cell{s.Name, op.name}] = append(results[cell{s.Name, op.name}], r)
				}
			}
			if op.name == create && counting != nil {
				batch, err := counting.meanBatch(load(cfg, op))
				if err != nil {
					return nil, err
				}
				batches = append(batches, batch)
			}
		}
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	var figures measured.Loopback
	for _, op := range operations(cfg.operation) {
		for _, s := range servers {
			if len(results[cell{s.Name, op.name}]) == 0 {
				continue
			}
			f := figure(s.Name, op.name, results)
			if f.Server == onSQLite && f.Operation == create {
				f.MeanBatch = measured.SpreadOf(batches[1:])
				f.OverMemory = measured.SpreadOf(beyond(results[cell{s.Name, op.name}], results[cell{onMemory, op.name}]))
			}
			figures = append(figures, f)
		}
	}
	return figures, nil
}

func load(cfg config, op operation) rig.Load {
	return rig.Load{Requests: [][]byte{op.request}, Connections: cfg.connections, Duration: cfg.slice}
}

func figure(server, operation string, results map[cell][]rig.Result) measured.Figure {
	own := results[cell{server, operation}]
	var perSecond, p99, cpu []float64
	for _, r := range own {
		perSecond = append(perSecond, r.PerSecond)
		p99 = append(p99, float64(r.P99.Microseconds()))
		cpu = append(cpu, float64(r.CPU.Nanoseconds())/1000)
	}
	f := measured.Figure{
		Server: server, Operation: operation,
		CPUMicros:  measured.SpreadOf(cpu),
		PerSecond:  measured.SpreadOf(perSecond),
		P99Micros:  measured.SpreadOf(p99),
		OfEquipped: measured.SpreadOf(over(results[cell{peers.NameEquipped, operation}], own)),
	}
	if server == onMemory {
		f.OfMetrics = measured.SpreadOf(over(results[cell{scraped, operation}], own))
	}
	return f
}

// over returns the processor time of other requests over that of own, round by
// round.
func over(other, own []rig.Result) []float64 {
	var ratios []float64
	for round, r := range own {
		if len(other) > round && r.CPU > 0 {
			ratios = append(ratios, float64(other[round].CPU)/float64(r.CPU))
		}
	}
	return ratios
}

// beyond returns how many µs of processor time requests took beyond those of base,
// round by round.
func beyond(own, base []rig.Result) []float64 {
	var micros []float64
	for round, r := range base {
		micros = append(micros, float64((own[round].CPU-r.CPU).Nanoseconds())/1000)
	}
	return micros
}
