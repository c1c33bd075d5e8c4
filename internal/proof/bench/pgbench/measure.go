//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/pets/store/postgres"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/rig"
)

type config struct {
	petstore  string
	clients   int
	slice     time.Duration
	rounds    int
	operation string
	out       string
}

func measure(cfg config) error {
	server, err := pgtest.New(rig.Durable...)
	if err != nil {
		return err
	}
	defer server.Remove()
	dir, err := os.MkdirTemp("", "pgbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // pgbench may run as another user
		return err
	}
	service, err := rig.Petstore{Name: "petstore", Program: cfg.petstore, Store: server.Address("postgres"), Dir: dir}.Start()
	if err != nil {
		return err
	}
	defer service.Stop()
	store, err := postgres.Open(context.Background(), server.Address("postgres"))
	if err != nil {
		return err
	}
	defer store.Close()
	b := bench{config: cfg, server: server, store: store, service: service, dir: dir}
	if err := b.sql(fill...); err != nil {
		return err
	}
	figures, err := b.rounds()
	if err != nil {
		return err
	}
	fmt.Print(measured.VersusTable(figures))
	return measured.Write(b.out, figures)
}

// bench is one run: the server, and the store and the service that are measured
// beside pgbench.
type bench struct {
	config
	server  *pgtest.Server
	store   *postgres.Store
	service *rig.Server
	dir     string
}

// times is one operation in one round, each figure a second.
type times struct{ pgbench, store, http, cpuMicros float64 }

func (b *bench) rounds() ([]measured.Versus, error) {
	ops := operations(b.operation)
	results := make([][]times, len(ops))
	for round := range b.config.rounds {
		for i, op := range ops {
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %-24s", round+1, b.config.rounds, op.name)
			t, err := b.inTurns(op, int64(round*len(ops)+i+1)*1_000_000_000_000)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op.name, err)
			}
			results[i] = append(results[i], t)
		}
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	var figures []measured.Versus
	for i, op := range ops {
		spread := func(of func(times) float64) measured.Spread {
			var values []float64
			for _, t := range results[i] {
				values = append(values, of(t))
			}
			return measured.SpreadOf(values)
		}
		figures = append(figures, measured.Versus{
			Operation: op.name,
			PgBench:   spread(func(t times) float64 { return t.pgbench }),
			Store:     spread(func(t times) float64 { return t.store }),
			OfStore:   spread(func(t times) float64 { return t.store / t.pgbench }),
			HTTP:      spread(func(t times) float64 { return t.http }),
			OfHTTP:    spread(func(t times) float64 { return t.http / t.pgbench }),
			CPUMicros: spread(func(t times) float64 { return t.cpuMicros }),
		})
	}
	return figures, nil
}

// sql runs statements, each in a transaction of its own.
func (b *bench) sql(statements ...string) error {
	args := []string{"-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres"}
	for _, statement := range statements {
		args = append(args, "-c", statement)
	}
	if out, err := b.server.Command("psql", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w: %s", err, out)
	}
	return nil
}

func (b *bench) inTurns(op operation, base int64) (times, error) {
	err := b.sql(
		fmt.Sprintf("ALTER SYSTEM SET commit_delay = %d", op.commitDelay.Microseconds()),
		"ALTER SYSTEM SET commit_siblings = 0", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.2)")
	if err != nil {
		return times{}, err
	}
	tps, err := b.pgbench(op, base)
	if err != nil {
		return times{}, err
	}
	calls, err := b.call(op)
	if err != nil {
		return times{}, err
	}
	load := rig.Load{Requests: op.requests, Connections: b.clients, Duration: b.slice}
	r, err := load.Run(b.service)
	return times{tps, calls, r.PerSecond, float64(r.CPU.Nanoseconds()) / 1000}, err
}

// call has as many goroutines as there are clients call the store, and returns
// the calls a second.
func (b *bench) call(op operation) (float64, error) {
	var wg sync.WaitGroup
	var calls atomic.Int64
	errs := make(chan error, b.clients)
	start := time.Now()
	for range b.clients {
		wg.Go(func() {
			// As every request has one, and its end.
			ctx, cancel := context.WithTimeout(context.Background(), b.slice+time.Minute)
			defer cancel()
			for time.Since(start) < b.slice {
				if err := op.call(ctx, b.store); err != nil {
					errs <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	close(errs)
	return float64(calls.Load()) / took.Seconds(), <-errs
}

var tpsLine = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)

// pgbench runs an operation's script and returns the transactions a second,
// connecting not counted.
func (b *bench) pgbench(op operation, base int64) (float64, error) {
	script := filepath.Join(b.dir, op.name)
	if err := os.WriteFile(script, []byte(op.script), 0o644); err != nil {
		return 0, err
	}
	args := []string{"-n", "-M", "prepared", "-c", strconv.Itoa(b.clients), "-j", "1", "-T", strconv.Itoa(max(1, int(b.slice.Seconds()))), "-f", script}
	for _, v := range slices.Concat([]string{"base=" + strconv.FormatInt(base, 10)}, values, op.variables) {
		args = append(args, "-D", v)
	}
	cmd := b.server.Command("pgbench", append(args, "postgres")...)
	out, err := cmd.CombinedOutput()
	match := tpsLine.FindSubmatch(out)
	if err == nil && (match == nil || strings.Contains(string(out), "aborted")) {
		err = errors.New("no figure")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, out)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}
