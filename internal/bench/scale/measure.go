package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"example.com/petstore/internal/bench/measured"
	"example.com/petstore/internal/bench/rig"
)

// question is something asked of a database of n pets, never quite the same
// where the answer would otherwise be remembered.
type question struct {
	name   string
	target func(n int) string
}

func questions() []question {
	return []question{
		{"list, first page", func(int) string { return "/v1/pets?limit=20" }},
		{"list, anywhere", func(n int) string { return fmt.Sprintf("/v1/pets?limit=20&after=%d", rand.IntN(n)) }},
		{"filtered list, first page", func(int) string { return "/v1/pets?limit=20&status=sold" }},
		{"filtered list, anywhere", func(n int) string { return fmt.Sprintf("/v1/pets?limit=20&status=sold&after=%d", rand.IntN(n)) }},
		{"filtered list, one pet in a million", func(int) string { return "/v1/pets?limit=20&status=pending" }},
		{"get, the same pet", func(int) string { return "/v1/pets/7" }},
		{"get, any pet", func(n int) string { return fmt.Sprintf("/v1/pets/%d", 1+rand.IntN(n)) }},
	}
}

// manyRequests is how many different requests a question is asked by: more
// than the service remembers answers of.
const manyRequests = 50_000

func (q question) requests(n int) [][]byte {
	requests := make([][]byte, manyRequests)
	for i := range requests {
		requests[i] = rig.Get(q.target(n))
	}
	return requests
}

func measure(cfg config, few, many *rig.Server) error {
	figures := measured.Scale{Pets: cfg.pets}
	for _, q := range questions() {
		var a, b []rig.Result
		fewRequests, manyRequests := q.requests(fewPets), q.requests(cfg.pets)
		for round := range cfg.rounds {
			fmt.Fprintf(os.Stderr, "\r%60s\r%s: round %d of %d", "", q.name, round+1, cfg.rounds)
			r, err := rig.Load(few, fewRequests, "200", cfg.connections, cfg.slice)
			if err != nil {
				return err
			}
			a = append(a, r)
			if r, err = rig.Load(many, manyRequests, "200", cfg.connections, cfg.slice); err != nil {
				return err
			}
			b = append(b, r)
		}
		figures.Questions = append(figures.Questions, measured.Question{
			Name:       q.name,
			FewMicros:  median(a).Median.Microseconds(),
			ManyMicros: median(b).Median.Microseconds(),
		})
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	info, err := os.Stat(cfg.petstore)
	if err != nil {
		return err
	}
	figures.StartUpMillis = many.StartUp.Milliseconds()
	figures.PeakMemory = many.PeakMemory()
	figures.ProgramSize = info.Size()
	fmt.Print(figures.Table())
	return measured.Write(cfg.out, figures)
}

func median(rs []rig.Result) rig.Result {
	slices.SortFunc(rs, func(a, b rig.Result) int { return int(a.Median - b.Median) })
	return rs[len(rs)/2]
}
