//go:build wrk && linux

// Package bench compares petstore with servers that other teams would build. `make bench`
// runs it and prints the tables of README.md.
package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/proof/program"
)

var rounds = flag.Int("rounds", 5, "how often each load is sent to each server")

// servers are petstore and its peers.
var servers = []string{"petstore", "oapi-codegen as documented", "plain Echo"}

const (
	stored      = 20_000 // pets of each server when the load begins
	connections = 32
)

// operations are those measured. Each returns a random request, "METHOD PATH BODY".
// The lists leave out the last pets, so that most pages are full.
var operations = []struct {
	name   string
	random func() string
}{
	{"list", func() string { return fmt.Sprintf("GET /v1/pets?limit=20&after=%d", rand.IntN(stored-300)) }},
	{"filtered list", func() string {
		return fmt.Sprintf("GET /v1/pets?limit=20&status=%s&after=%d", *randomPet().Status, rand.IntN(stored-300))
	}},
	{"get", func() string { return fmt.Sprintf("GET /v1/pets/%d", 1+rand.IntN(stored)) }},
	{"create", func() string { return fmt.Sprintf("POST /v1/pets %s", must(json.Marshal(randomPet()))) }},
}

// randomPet returns a pet. As in a shelter's records, most are sold and few available.
func randomPet() client.NewPet {
	status := []client.PetStatus{"available", "pending", "pending", "sold", "sold", "sold", "sold", "sold"}[rand.IntN(8)]
	name := strconv.FormatInt(1e5+rand.Int64N(1e12), 36)
	return client.NewPet{Name: name, CategoryID: 1 + rand.Int64N(5), Status: &status}
}

// TestMain also runs the peers: "peer NAME STORE ADDR".
func TestMain(m *testing.M) {
	if args := os.Args; len(args) == 5 && args[1] == "peer" {
		servePeer(args[2], args[3], args[4])
	}
	os.Exit(m.Run())
}

// BenchmarkPetstore prints the requests per second of each server, and those of the peers
// divided by petstore's in the same round.
func BenchmarkPetstore(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		b.Run(kind, func(b *testing.B) {
			var addrs []string
			for i, name := range servers {
				address := "memory:"
				if kind == "sqlite" {
					address = "sqlite:" + filepath.Join(b.TempDir(), fmt.Sprint(i))
				}
				addrs = append(addrs, start(b, name, address))
				fill(b, addrs[i])
			}
			fmt.Printf("\n| %s | petstore | %s | ÷ petstore | %s | ÷ petstore |\n", kind, servers[1], servers[2])
			fmt.Println("| --- | --: | --: | --: | --: | --: |")
			for _, o := range operations {
				rates := make([][]float64, len(servers)) // by server and round
				for round := range *rounds {
					file := filepath.Join(b.TempDir(), "requests")
					var lines strings.Builder
					for range stored {
						fmt.Fprintln(&lines, o.random())
					}
					if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
						b.Fatal(err)
					}
					for i := range servers {
						i = (i + round) % len(servers)
						rates[i] = append(rates[i], saturate(b, addrs[i], file))
					}
				}
				fmt.Printf("| %s | %s |", o.name, spread(rates[0], "%.0f"))
				for _, peer := range rates[1:] {
					ratios := slices.Clone(peer)
					for i := range ratios {
						ratios[i] /= rates[0][i]
					}
					fmt.Printf(" %s | %s |", spread(peer, "%.0f"), spread(ratios, "%.1f"))
				}
				fmt.Println()
			}
		})
	}
}

// start starts petstore or a peer on processor 0, waits until it listens, and returns
// its address.
func start(b *testing.B, name, store string) string {
	addr := program.FreeAddress(b)
	cmd := exec.CommandContext(b.Context(), "taskset", "-c", "0", os.Args[0], "peer", name, store, addr) // its log goes to /dev/null
	if name == "petstore" {
		cmd.Args = append(cmd.Args[:3], "../../../.bin/petstore", "serve", "--store", store, "--addr", addr, "--log-format", "json")
	}
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+program.Key)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Wait() })
	program.WaitFor(b, addr)
	return addr
}

// fill creates the pets that a server has when the load begins.
func fill(b *testing.B, addr string) {
	c, err := client.NewClientWithResponses("http://"+addr+"/v1", client.WithKey(program.Key))
	if err != nil {
		b.Fatal(err)
	}
	for range stored {
		r, err := c.CreatePetWithResponse(b.Context(), nil, randomPet())
		if err == nil {
			err = client.Check(r.JSON201, r.HTTPResponse, r.Body)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// saturate has wrk send the requests in a file for a second, as fast as the server
// responds. It returns how many it served per second.
func saturate(b *testing.B, addr, file string) float64 {
	out, err := exec.Command("wrk", "-t1", fmt.Sprintf("-c%d", connections), "-d1", "-s", "load.lua",
		"-H", "Authorization: Bearer "+program.Key, "-H", "Content-Type: application/json",
		"http://"+addr, "--", file).CombinedOutput()
	_, summary, _ := strings.Cut(string(out), "summary:")
	var requests, microseconds, errors float64
	if _, scanErr := fmt.Sscan(summary, &requests, &microseconds, &errors); err != nil || scanErr != nil || requests == 0 || errors > 0 {
		b.Fatalf("%v, %v: %s", err, scanErr, out)
	}
	return requests / microseconds * 1e6
}

// spread returns the median of values, the lowest and the highest.
func spread(values []float64, format string) string {
	sorted := slices.Sorted(slices.Values(values))
	median := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return fmt.Sprintf(format+" ("+format+"–"+format+")", median, sorted[0], sorted[len(sorted)-1])
}
