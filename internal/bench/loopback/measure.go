package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/bench/peers"
)

type config struct {
	petstore    string
	connections int
	slice       time.Duration
	rounds      int
	only, out   string
	operation   string
}

// operation is a request that every server answers alike.
type operation struct{ name, status, request string }

// operations returns those whose names contain what is wanted.
func operations(wanted string) []operation {
	return slices.DeleteFunc(allOperations(), func(op operation) bool { return !strings.Contains(op.name, wanted) })
}

func allOperations() []operation {
	get := func(target string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + apiKey + "\r\n\r\n"
	}
	body := `{"name":"Frank","categoryId":1,"status":"pending"}`
	return []operation{
		{"list", "200", get("/v1/pets?limit=20")},
		{"filtered list", "200", get("/v1/pets?limit=20&status=sold")},
		{"get", "200", get("/v1/pets/7")},
		{"create", "201", fmt.Sprintf("POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", apiKey, len(body), body)},
	}
}

// figure is the median of one server's rounds with one operation.
type figure struct {
	Server    string  `json:"server"`
	Operation string  `json:"operation"`
	PerSecond float64 `json:"per_second"`
	P99Micros int64   `json:"p99_us"`
	CPUMicros float64 `json:"cpu_us"` // of the server, a request
}

func measure(cfg config) error {
	dir, err := os.MkdirTemp("", "loopback")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	wanted := func(name string) bool { return strings.Contains(name, cfg.only) }
	for _, p := range peers.All() {
		if !wanted(p.Name) {
			continue
		}
		s, err := startPeer(p.Name)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	for name, store := range map[string]string{"petstore memory": "memory:", "petstore sqlite": "sqlite:" + filepath.Join(dir, "pets.db")} {
		if !wanted(name) {
			continue
		}
		s, err := startPetstore(name, cfg.petstore, store, dir)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	if len(servers) > 1 {
		slices.SortStableFunc(servers[len(servers)-2:], func(a, b *server) int { return strings.Compare(a.name, b.name) })
	}

	figures, err := rounds(cfg, servers)
	if err != nil {
		return err
	}
	printTable(cfg, servers, figures)
	if cfg.out == "" {
		return nil
	}
	data, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(cfg.out, append(data, '\n'), 0o644)
}

func rounds(cfg config, servers []*server) ([]figure, error) {
	type cell struct{ server, operation string }
	results := map[cell][]result{}
	for round := range cfg.rounds {
		for _, op := range operations(cfg.operation) {
			for _, s := range servers {
				fmt.Fprintf(os.Stderr, "\rround %d of %d: %-13s %-16s", round+1, cfg.rounds, op.name, s.name)
				cpu := s.cpu()
				r, err := load(s.addr, []byte(op.request), op.status, cfg.connections, cfg.slice)
				r.cpu = (s.cpu() - cpu) / time.Duration(max(r.requests, 1))
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", s.name, op.name, err)
				}
				results[cell{s.name, op.name}] = append(results[cell{s.name, op.name}], r)
			}
		}
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	var figures []figure
	for _, op := range operations(cfg.operation) {
		for _, s := range servers {
			rs := results[cell{s.name, op.name}]
			slices.SortFunc(rs, func(a, b result) int { return int(a.perSecond - b.perSecond) })
			median := rs[len(rs)/2]
			figures = append(figures, figure{s.name, op.name, median.perSecond, median.p99.Microseconds(), float64(median.cpu.Nanoseconds()) / 1000})
		}
	}
	return figures, nil
}

func printTable(cfg config, servers []*server, figures []figure) {
	at := func(server, op string) figure {
		i := slices.IndexFunc(figures, func(f figure) bool { return f.Server == server && f.Operation == op })
		if i < 0 {
			return figure{}
		}
		return figures[i]
	}
	fmt.Printf("%-14s %-16s %12s %10s %10s %15s %12s\n", "operation", "server", "requests/s", "p99", "CPU", "of handwritten", "of constant")
	for _, op := range operations(cfg.operation) {
		for _, s := range servers {
			f := at(s.name, op.name)
			fmt.Printf("%-14s %-16s %12.0f %10v %8.1fµs %15s %12s\n", op.name, s.name, f.PerSecond, time.Duration(f.P99Micros)*time.Microsecond, f.CPUMicros,
				ratio(f.PerSecond, at("handwritten", op.name).PerSecond), ratio(f.PerSecond, at("constant", op.name).PerSecond))
		}
	}
}

func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
