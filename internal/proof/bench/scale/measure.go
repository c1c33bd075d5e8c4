package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/rig"
)

// question is a kind of request to a database of n pets, each about a position
// of its own.
type question struct {
	name   string
	target func(position int) string
}

func questions() []question {
	return []question{
		{"a page from anywhere", func(p int) string { return fmt.Sprintf("/v1/pets?limit=20&after=%d", p) }},
		{"a filtered page from anywhere", func(p int) string { return fmt.Sprintf("/v1/pets?limit=20&status=sold&after=%d", p) }},
		{"a page of a rare status", func(p int) string { return fmt.Sprintf("/v1/pets?limit=20&status=pending&after=%d", p) }},
		{"a get", func(p int) string { return fmt.Sprintf("/v1/pets/%d", 1+p) }},
	}
}

const (
	onceRequests       = 4000 // asked once each; fewer than the small database has pets
	rememberedRequests = 100  // asked again and again; few enough to be remembered
)

// requests returns the question about so many positions, none of them twice.
func (q question) requests(pets int) [][]byte {
	requests := make([][]byte, 0, onceRequests)
	for _, position := range distinct(onceRequests, pets) {
		requests = append(requests, rig.Get(q.target(position)))
	}
	return requests
}

// distinct returns n different numbers below limit, in random order.
func distinct(n, limit int) []int {
	seen, numbers := map[int]bool{}, make([]int, 0, n)
	for len(numbers) < n {
		if p := rand.IntN(limit); !seen[p] {
			seen[p] = true
			numbers = append(numbers, p)
		}
	}
	return numbers
}

// database is a file and its service, which is started anew for each round.
type database struct {
	pets    int
	path    string
	startUp time.Duration // of the last start
	peak    int64         // of all its processes, in bytes
}

// times is the processor time of a request in one round, in microseconds.
type times struct{ once, remembered float64 }

// ask starts a fresh process on the database and asks it the question.
func (d *database) ask(cfg config, q question) (times, error) {
	s, err := rig.Petstore{Name: filepath.Base(d.path), Program: cfg.petstore, Store: "sqlite:" + d.path, Dir: cfg.dir}.Start()
	if err != nil {
		return times{}, err
	}
	defer s.Stop()
	d.startUp = s.StartUp
	requests := q.requests(d.pets)
	load := rig.Load{Requests: requests, Once: true, Connections: cfg.connections, Duration: cfg.slice}
	once, err := load.Run(s)
	if err != nil {
		return times{}, err
	}
	load.Requests, load.Once = requests[:rememberedRequests], false
	remembered, err := load.Run(s)
	d.peak = max(d.peak, s.PeakMemory())
	return times{micros(once), micros(remembered)}, err
}

func micros(r rig.Result) float64 { return float64(r.CPU.Nanoseconds()) / 1000 }

func measure(cfg config, few, many *database) error {
	figures := measured.Scale{FewPets: few.pets, ManyPets: many.pets}
	for _, q := range questions() {
		var once, remembered [3][]float64 // few, many, ratio
		for round := range cfg.rounds {
			fmt.Fprintf(os.Stderr, "\r%60s\r%s: round %d of %d", "", q.name, round+1, cfg.rounds)
			f, err := few.ask(cfg, q)
			if err != nil {
				return err
			}
			m, err := many.ask(cfg, q)
			if err != nil {
				return err
			}
			for i, v := range [3]float64{f.once, m.once, m.once / f.once} {
				once[i] = append(once[i], v)
			}
			for i, v := range [3]float64{f.remembered, m.remembered, m.remembered / f.remembered} {
				remembered[i] = append(remembered[i], v)
			}
		}
		figures.FirstTime = append(figures.FirstTime, figure(q.name, once))
		figures.Remembered = append(figures.Remembered, figure(q.name, remembered))
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	program, err := os.Stat(cfg.petstore)
	if err != nil {
		return err
	}
	file, err := os.Stat(many.path)
	if err != nil {
		return err
	}
	figures.StartUpMillis, figures.PeakMemory = many.startUp.Milliseconds(), many.peak
	figures.ProgramSize, figures.FileSize = program.Size(), file.Size()
	fmt.Print(figures.Table())
	return measured.Write(cfg.out, figures)
}

func figure(name string, values [3][]float64) measured.Question {
	return measured.Question{
		Name:       name,
		FewMicros:  measured.SpreadOf(values[0]),
		ManyMicros: measured.SpreadOf(values[1]),
		Ratio:      measured.SpreadOf(values[2]),
	}
}
