//go:build unix

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/rig"
)

type config struct {
	petstore         string
	clients          int
	slice            time.Duration
	rounds           int
	service, primary float64
	out              string
}

// animals is how many there are at the beginning.
const animals = 100_000

// bench is one run: a primary with a standby, and two services, of which one reads
// from the standby.
type bench struct {
	config
	cluster                  *rig.Cluster
	dir                      string
	fromPrimary, fromStandby *rig.Server
	held                     *rig.Group // of fromPrimary
	others                   *rig.Group // of fromStandby and the load
}

func measure(cfg config) error {
	b := bench{config: cfg}
	defer b.remove()
	if err := b.start(); err != nil {
		return err
	}
	plan, err := b.costs()
	if err != nil {
		return err
	}
	if err := b.hold(&plan); err != nil {
		return err
	}
	fmt.Print(plan.Table(), "\n", plan.HeldTable())
	if err := measured.Write(cfg.out, plan); err != nil {
		return err
	}
	return plan.Check()
}

func (b *bench) start() (err error) {
	if b.dir, err = os.MkdirTemp("", "plan"); err != nil {
		return err
	}
	if b.cluster, err = rig.NewCluster(1); err != nil {
		return err
	}
	start := func(reads string) (*rig.Server, error) {
		return rig.Petstore{
			Name: reads, Program: b.petstore, Dir: b.dir,
			Store: pgtest.Addresses("postgres", b.cluster.Servers...), Flags: []string{"--reads", reads},
		}.Start()
	}
	if b.fromPrimary, err = start("primary"); err != nil {
		return err
	}
	if b.fromStandby, err = start("standbys"); err != nil {
		return err
	}
	if b.held, err = rig.NewGroup(fmt.Sprintf("petstore-%d", os.Getpid())); err != nil {
		return err
	}
	if b.others, err = rig.NewGroup(fmt.Sprintf("petstore-%d-load", os.Getpid())); err != nil {
		return err
	}
	return errors.Join(b.held.Add(b.fromPrimary.PID()), b.others.Add(b.fromStandby.PID(), os.Getpid()), b.cluster.Fill(animals))
}

func (b *bench) remove() {
	for _, s := range []*rig.Server{b.fromPrimary, b.fromStandby} {
		if s != nil {
			s.Stop()
		}
	}
	for _, g := range []*rig.Group{b.held, b.others} {
		if g != nil {
			g.Remove()
		}
	}
	if b.cluster != nil {
		b.cluster.Remove()
	}
	_ = os.RemoveAll(b.dir)
}

// requests returns many requests of an operation.
func requests(operation string) (all [][]byte) {
	one := map[string]func() []byte{
		"create": func() []byte { return rig.Post(`{"name":"Frank","categoryId":1,"status":"pending"}`) },
		"get":    func() []byte { return rig.Get("/v1/pets/" + strconv.Itoa(1+rand.N(animals))) },
		"list":   func() []byte { return rig.Get("/v1/pets?limit=20&after=" + strconv.Itoa(rand.N(animals-100))) },
	}[operation]
	for range 4096 {
		all = append(all, one())
	}
	return all
}

// usage is all that is counted of a run.
type usage struct {
	primary, standby, replay time.Duration
	wal, log                 int64
}

func (b *bench) usage(s *rig.Server) (u usage, err error) {
	if u.primary, err = b.cluster.ProcessorTime(0); err != nil {
		return u, err
	}
	if u.standby, err = b.cluster.ProcessorTime(1); err != nil {
		return u, err
	}
	if u.replay, err = b.cluster.ReplayTime(1); err != nil {
		return u, err
	}
	if info, err := os.Stat(filepath.Join(b.dir, s.Name+".log")); err == nil {
		u.log = info.Size()
	}
	u.wal, err = b.number("SELECT pg_current_wal_insert_lsn() - '0/0'")
	return u, err
}

func (b *bench) number(query string) (int64, error) {
	text, err := b.cluster.SQL(query)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}

// cost runs one operation with its part of the clients, and returns what a request of
// it costs: the fewer clients create, the fewer creates share a commit.
func (b *bench) cost(s *rig.Server, operation string) (c measured.Cost, perSecond float64, err error) {
	all := requests(operation)
	load := rig.Load{Requests: all, Connections: max(1, int(measured.Mixed[operation]*float64(b.clients))), Duration: time.Second}
	if _, err := load.Run(s); err != nil {
		return c, 0, err
	}
	load.Duration = b.slice
	before, err := b.usage(s)
	if err != nil {
		return c, 0, err
	}
	r, err := load.Run(s)
	if err != nil {
		return c, 0, err
	}
	after, err := b.usage(s)
	each := func(n float64) float64 { return n / float64(r.Requests) }
	micros := func(d time.Duration) float64 { return each(float64(d.Nanoseconds()) / 1000) }
	return measured.Cost{
		Operation: operation,
		Service:   float64(r.CPU.Nanoseconds()) / 1000,
		Primary:   micros(after.primary - before.primary),
		Standby:   micros(after.standby - before.standby),
		Replay:    micros(after.replay - before.replay),
		Log:       each(float64(after.log - before.log)),
		WAL:       each(float64(after.wal - before.wal)),
		Network:   float64(len(all[0])) + each(float64(r.Received)),
	}, r.PerSecond, err
}

// costs measures each operation in turns. A read costs a standby what it costs where
// standbys serve reads.
func (b *bench) costs() (plan measured.Plan, err error) {
	rounds := map[string][]measured.Cost{}
	var questions []float64
	for round := range b.rounds {
		for _, operation := range []string{"list", "get", "create"} {
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %-8s", round+1, b.rounds, operation)
			c, _, err := b.cost(b.fromPrimary, operation)
			if err != nil {
				return plan, err
			}
			if operation != "create" {
				by, perSecond, err := b.cost(b.fromStandby, operation)
				if err != nil {
					return plan, err
				}
				c.Standby, c.Replay, c.WAL = by.Standby, 0, 0
				questions = append(questions, by.Primary*perSecond/1e6)
			}
			rounds[operation] = append(rounds[operation], c)
		}
	}
	fmt.Fprintf(os.Stderr, "\r%30s\r", "")
	for _, operation := range []string{"list", "get", "create"} {
		median := func(of func(measured.Cost) float64) float64 {
			var values []float64
			for _, c := range rounds[operation] {
				values = append(values, of(c))
			}
			return measured.SpreadOf(values).Median
		}
		plan.Costs = append(plan.Costs, measured.Cost{
			Operation: operation,
			Service:   median(func(c measured.Cost) float64 { return c.Service }),
			Primary:   median(func(c measured.Cost) float64 { return c.Primary }),
			Standby:   median(func(c measured.Cost) float64 { return c.Standby }),
			Replay:    median(func(c measured.Cost) float64 { return c.Replay }),
			Log:       median(func(c measured.Cost) float64 { return c.Log }),
			WAL:       median(func(c measured.Cost) float64 { return c.WAL }),
			Network:   median(func(c measured.Cost) float64 { return c.Network }),
		})
	}
	plan.Questions = slices.Max(questions)
	plan.Memory = float64(b.fromPrimary.PeakMemory())
	total, err := b.number("SELECT pg_total_relation_size('pets')")
	if err != nil {
		return plan, err
	}
	indexes, err := b.number("SELECT pg_indexes_size('pets')")
	if err != nil {
		return plan, err
	}
	count, err := b.number("SELECT count(*) FROM pets")
	plan.AnimalBytes, plan.IndexBytes = float64(total)/float64(count), float64(indexes)/float64(count)
	return plan, err
}

// hold predicts what the held shares hold, and measures it with the mix.
func (b *bench) hold(plan *measured.Plan) error {
	plan.Held = measured.Held{Service: b.service, Primary: b.primary, Predicted: plan.Predict(b.service, b.primary)}
	if err := errors.Join(b.held.Hold(b.service), b.cluster.Hold(b.primary)); err != nil {
		return err
	}
	defer func() { _ = errors.Join(b.held.Hold(0), b.cluster.Hold(0)) }()
	var perSecond []float64
	for range b.rounds {
		n, err := b.mixed()
		if err != nil {
			return err
		}
		perSecond = append(perSecond, n)
	}
	plan.Held.Measured = measured.SpreadOf(perSecond)
	return nil
}

// mixed returns the requests a second of the mix: each operation has its part of the
// connections' requests.
func (b *bench) mixed() (float64, error) {
	var all [][]byte
	for operation, share := range measured.Mixed {
		all = append(all, requests(operation)[:int(share*4096)]...)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	load := rig.Load{Requests: all, Connections: b.clients, Duration: time.Second}
	if _, err := load.Run(b.fromPrimary); err != nil {
		return 0, err
	}
	load.Duration = b.slice
	r, err := load.Run(b.fromPrimary)
	return r.PerSecond, err
}
