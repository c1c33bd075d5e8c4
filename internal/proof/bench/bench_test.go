//go:build wrk && linux

// Package bench compares petstore with what a team gets that puts its parts together as
// their documentation shows: oapi-codegen's strict server and kin-openapi's filter of
// requests, with Echo's own middleware, on the same stores. `make bench` runs it, and
// prints the table of README.md.
//
// Each store has 20,000 pets when the load begins. Requests are random. In each round, wrk
// sends each server as many as it can serve, for one second, over 32 connections. The load
// and the server each have one processor of their own. No response may be an error, and
// all logs go to /dev/null. A figure is the median of the rounds. The last column divides
// by petstore's figure in the same round, so that temporary slowdowns of the machine mostly
// cancel out; it has the lowest and the highest too.
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

// BenchmarkPetstore prints the requests per second of petstore and of its peer.
func BenchmarkPetstore(b *testing.B) {
	fmt.Println("\n| store | operation | petstore | oapi-codegen as documented | ÷ petstore |")
	fmt.Println("| --- | --- | --: | --: | --: |")
	for _, kind := range []string{"memory", "sqlite"} {
		b.Run(kind, func(b *testing.B) {
			newStore := func() string {
				if kind == "memory" {
					return "memory:"
				}
				return "sqlite:" + filepath.Join(b.TempDir(), "petstore.db")
			}
			petstore, peer := startPetstore(b, newStore()), startPeer(b, newStore())
			fill(b, petstore)
			fill(b, peer)
			for _, o := range operations {
				var ours, theirs, ratios []float64 // by round
				for range *rounds {
					requests := writeRequests(b, o.random)
					ours = append(ours, saturate(b, petstore, requests))
					theirs = append(theirs, saturate(b, peer, requests))
					ratios = append(ratios, theirs[len(theirs)-1]/ours[len(ours)-1])
				}
				fmt.Printf("| %s | %s | %.0f | %.0f | %.1f (%.1f–%.1f) |\n", kind, o.name,
					median(ours), median(theirs), median(ratios), slices.Min(ratios), slices.Max(ratios))
			}
		})
	}
}

// startPetstore serves petstore from a store, and returns its address.
func startPetstore(b *testing.B, store string) (addr string) {
	addr = program.FreeAddress(b)
	cmd := exec.CommandContext(b.Context(), "../../../.bin/petstore", "serve", "--store", store, "--addr", addr, "--log-format", "json")
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+program.Key)
	if err := cmd.Start(); err != nil { // its log goes to /dev/null
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

// writeRequests writes a file of random requests.
func writeRequests(b *testing.B, random func() string) (file string) {
	var lines strings.Builder
	for range stored {
		fmt.Fprintln(&lines, random())
	}
	file = filepath.Join(b.TempDir(), "requests")
	if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	return file
}

// saturate has wrk send the requests in a file for a second, as fast as the server
// responds. It returns how many it served per second.
func saturate(b *testing.B, addr, file string) float64 {
	out, err := exec.Command("taskset", "-c", "1", "wrk", "-t1", fmt.Sprintf("-c%d", connections), "-d1", "-s", "load.lua",
		"-H", "Authorization: Bearer "+program.Key, "-H", "Content-Type: application/json",
		"http://"+addr, "--", file).CombinedOutput()
	_, summary, _ := strings.Cut(string(out), "summary:")
	var requests, microseconds, errors float64
	if _, scanErr := fmt.Sscan(summary, &requests, &microseconds, &errors); err != nil || scanErr != nil || requests == 0 || errors > 0 {
		b.Fatalf("%v, %v: %s", err, scanErr, out)
	}
	return requests / microseconds * 1e6
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
