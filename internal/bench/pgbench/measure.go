package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/bench/measured"
	"example.com/petstore/internal/bench/rig"
	"example.com/petstore/internal/store/postgres/pgtest"
)

type config struct {
	petstore  string
	clients   int
	slice     time.Duration
	rounds    int
	operation string
}

// durable is how a server is run whose acknowledgements count, which pgtest's
// own settings are not.
var durable = []string{"fsync=on", "full_page_writes=on", "synchronous_commit=on", "shared_buffers=128MB", "max_wal_size=4GB", "autovacuum=off"}

func measure(cfg config) error {
	server, err := pgtest.New(durable...)
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
	service, err := rig.StartPetstore("petstore", cfg.petstore, server.Address("postgres"), dir)
	if err != nil {
		return err
	}
	defer service.Stop()
	for statement := range strings.SplitSeq(fill, ";\n") {
		if out, err := server.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", statement).CombinedOutput(); err != nil {
			return fmt.Errorf("filling: %w: %s", err, out)
		}
	}
	figures, err := rounds(cfg, server, service, dir)
	if err != nil {
		return err
	}
	fmt.Print(measured.VersusTable(figures))
	return nil
}

func rounds(cfg config, server *pgtest.Server, service *rig.Server, dir string) ([]measured.Versus, error) {
	ops := operations(cfg.operation)
	results := make([][]measured.Versus, len(ops))
	for round := range cfg.rounds {
		for i, op := range ops {
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %-13s", round+1, cfg.rounds, op.name)
			tps, err := pgbench(cfg, server, op, dir, int64(round+1)*1_000_000_000_000)
			if err != nil {
				return nil, err
			}
			r, err := rig.Load(service, op.requests, op.status, cfg.clients, cfg.slice)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op.name, err)
			}
			results[i] = append(results[i], measured.Versus{
				Operation: op.name, PerSecond: r.PerSecond, TPS: tps, Ratio: r.PerSecond / tps, Goal: op.goal,
				CPUMicros: float64(r.CPU.Nanoseconds()) / 1000,
			})
		}
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	var figures []measured.Versus
	for i, op := range ops {
		figures = append(figures, measured.Versus{
			Operation: op.name, Goal: op.goal,
			PerSecond: median(results[i], func(v measured.Versus) float64 { return v.PerSecond }),
			TPS:       median(results[i], func(v measured.Versus) float64 { return v.TPS }),
			Ratio:     median(results[i], func(v measured.Versus) float64 { return v.Ratio }),
			CPUMicros: median(results[i], func(v measured.Versus) float64 { return v.CPUMicros }),
		})
	}
	return figures, nil
}

func median(all []measured.Versus, of func(measured.Versus) float64) float64 {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

var tpsLine = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)

// pgbench runs an operation's script and returns the transactions a second,
// connecting not counted.
func pgbench(cfg config, server *pgtest.Server, op operation, dir string, base int64) (float64, error) {
	script := filepath.Join(dir, op.name)
	if err := os.WriteFile(script, []byte(op.script), 0o644); err != nil {
		return 0, err
	}
	args := []string{"-n", "-M", "prepared", "-c", strconv.Itoa(cfg.clients), "-j", "1", "-T", strconv.Itoa(max(1, int(cfg.slice.Seconds()))), "-f", script}
	for _, v := range append([]string{"base=" + strconv.FormatInt(base, 10)}, values...) {
		args = append(args, "-D", v)
	}
	cmd := server.Command("pgbench", append(args, "postgres")...)
	out, err := cmd.CombinedOutput()
	match := tpsLine.FindSubmatch(out)
	if err == nil && (match == nil || strings.Contains(string(out), "aborted")) {
		err = errors.New("no figure")
	}
	if err != nil {
		return 0, fmt.Errorf("%s, %s: %w: %s", filepath.Base(cmd.Path), op.name, err, out)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}
