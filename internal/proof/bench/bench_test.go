//go:build wrk && linux

package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

// BenchmarkPetstore compares petstore with its peers on stores with 20,000 pets.
func BenchmarkPetstore(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		b.Run(kind, func(b *testing.B) {
			t := table{servers: []string{"petstore", peers.Documented, peers.Plain}}
			var servers []*server
			for i, name := range t.servers {
				address := "memory:"
				if kind == "sqlite" {
					address = "sqlite:" + filepath.Join(b.TempDir(), fmt.Sprint(i))
				}
				s := start(b, name, address)
				s.fill(b, 20_000)
				servers = append(servers, s)
			}
			for _, o := range operations {
				fmt.Println(kind, o.name)
				for round := range *rounds {
					for i := range servers {
						s := servers[(i+round)%len(servers)]
						t.add(o.name, s.name, s.saturate(b, o, round))
					}
				}
			}
			t.write(b, kind)
		})
	}
}
