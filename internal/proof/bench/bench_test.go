//go:build wrk && linux

package bench

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/petstore/internal/proof/bench/peers"
)

var rounds = flag.Int("rounds", 5, "how often each load is sent to each server")

// TestMain also runs the peers: "peer NAME STORE ADDR".
func TestMain(m *testing.M) {
	if args := os.Args; len(args) == 5 && args[1] == "peer" {
		fmt.Fprintln(os.Stderr, peers.Serve(args[2], args[3], args[4]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// operation is a measured operation.
type operation struct {
	name   string
	status int                                   // of every response
	random func(r *rand.Rand, pets int) []string // method, path and body
}

var operations = []operation{
	{"list", http.StatusOK, func(r *rand.Rand, pets int) []string {
		return []string{"GET", fmt.Sprintf("/v1/pets?limit=20&after=%d", randomAfter(r, pets)), ""}
	}},
	{"filtered list", http.StatusOK, func(r *rand.Rand, pets int) []string {
		return []string{"GET", fmt.Sprintf("/v1/pets?limit=20&status=%s&after=%d", peers.RandomPet(r).Status, randomAfter(r, pets)), ""}
	}},
	{"get", http.StatusOK, func(r *rand.Rand, pets int) []string {
		return []string{"GET", fmt.Sprintf("/v1/pets/%d", 1+r.IntN(pets)), ""}
	}},
	create,
}

var create = operation{"create", http.StatusCreated, func(r *rand.Rand, _ int) []string {
	p := peers.RandomPet(r)
	return []string{"POST", "/v1/pets", fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":%q}`, p.Name, p.CategoryID, p.Status)}
}}

// randomAfter leaves out the last pets, so that most pages are full.
func randomAfter(r *rand.Rand, pets int) int { return r.IntN(pets - 300) }

// requests returns n random requests for a store of the given number of pets, the
// same ones on every call with the same seed.
func (o operation) requests(n, pets, seed int) [][]string {
	r, out := rand.New(rand.NewPCG(uint64(seed), 0)), make([][]string, n)
	for i := range out {
		out[i] = o.random(r, pets)
	}
	return out
}

// BenchmarkPetstore compares petstore with its peers on stores with 20,000 pets, and
// prints a table for README.md: for each operation, the requests per second of each
// server, and those of the peers divided by petstore's in the same round.
func BenchmarkPetstore(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		b.Run(kind, func(b *testing.B) {
			names := []string{"petstore", peers.Documented, peers.Plain}
			var servers []*server
			for i, name := range names {
				address := "memory:"
				if kind == "sqlite" {
					address = "sqlite:" + filepath.Join(b.TempDir(), fmt.Sprint(i))
				}
				s := start(b, name, address)
				s.fill(b, 20_000)
				servers = append(servers, s)
			}
			fmt.Printf("\n| %s | petstore | %s | ÷ petstore | %s | ÷ petstore |\n| --- | --: | --: | --: | --: | --: |\n", kind, names[1], names[2])
			for _, o := range operations {
				rates := make([][]float64, len(servers)) // by server and round
				for round := range *rounds {
					for i := range servers {
						n := (i + round) % len(servers)
						rates[n] = append(rates[n], servers[n].saturate(b, o, round))
					}
				}
				fmt.Printf("| %s | %s |", o.name, spread(rates[0], "%.0f"))
				for _, peer := range rates[1:] {
					ratios := make([]float64, len(peer))
					for i := range peer {
						ratios[i] = peer[i] / rates[0][i]
					}
					fmt.Printf(" %s | %s |", spread(peer, "%.0f"), spread(ratios, "%.1f"))
				}
				fmt.Println()
			}
		})
	}
}

// spread returns the median of values, the lowest and the highest.
func spread(values []float64, format string) string {
	sorted := slices.Sorted(slices.Values(values))
	median := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return fmt.Sprintf(format+" ("+format+"–"+format+")", median, sorted[0], sorted[len(sorted)-1])
}
