//go:build wrk && linux

package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/proof/bench/peers"
	"example.com/petstore/internal/store/postgres/pgtest"
)

var (
	rounds = flag.Int("rounds", 5, "how often each load is sent to each server")
	binary = flag.String("petstore", "../../../.bin/petstore", "the program to measure")
)

// TestMain also runs the peers: "peer NAME STORE ADDR".
func TestMain(m *testing.M) {
	if args := os.Args; len(args) == 5 && args[1] == "peer" {
		fmt.Fprintln(os.Stderr, peers.Serve(args[2], args[3], args[4]))
		os.Exit(1)
	}
	os.Exit(pgtest.Main(m))
}

// BenchmarkPetstore writes the measured files, and from them the tables and
// charts.
func BenchmarkPetstore(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		beside(b, "memory", func(string) string { return "memory:" }, peers.Constant)
	})
	b.Run("sqlite", func(b *testing.B) {
		beside(b, "sqlite", func(name string) string { return "sqlite:" + filepath.Join(b.TempDir(), name) }, peers.Prepared)
	})
	b.Run("postgres", func(b *testing.B) {
		db := pgtest.Start(b, "fsync=on", "full_page_writes=on", "synchronous_commit=on", "max_wal_size=4GB", "autovacuum=off")
		database := func(name string) string {
			pgtest.Exec(b, db.Address("postgres"), "CREATE DATABASE "+name)
			return db.Address(name)
		}
		beside(b, "postgres", database)
	})
	b.Run("size", size)
}

// beside compares petstore with its peers on stores of one kind, with 20,000
// pets. store returns the address of an empty one.
func beside(b *testing.B, kind string, store func(name string) string, more ...string) {
	m := newMeasured(kind, append([]string{petstore, peers.Documented, peers.Plain}, more...)...)
	var servers []*server
	for i, name := range m.Servers {
		address := store(fmt.Sprintf("server%d", i))
		s := start(b, name, address)
		s.fill(b, 20_000)
		if kind == "postgres" {
			pgtest.Exec(b, address, "VACUUM ANALYZE pets")
		}
		servers = append(servers, s)
	}
	for _, o := range operations {
		m.measure(b, o, servers)
	}
	m.write(b)
}

// size measures petstore on a small SQLite file and on a large one.
func size(b *testing.B) {
	m := newMeasured("size", "10,000,000 pets", "10,000 pets")
	starts := row{Name: "first response after the start", Unit: "ms", Values: map[string][]float64{}}
	sizes, stores, servers := []int{10_000_000, 10_000}, make([]string, 2), make([]*server, 2)
	for i, n := range sizes {
		stores[i] = "sqlite:" + filepath.Join(b.TempDir(), "pets.db")
		csv := bytes.NewBufferString("name,categoryId,status\n")
		for r := rand.New(rand.NewPCG(0, 0)); n > 0; n-- {
			p := peers.RandomPet(r)
			fmt.Fprintf(csv, "%s,%d,%s\n", p.Name, p.CategoryID, p.Status)
		}
		cmd := exec.Command(*binary, "import", "-", "--format", "csv", "--store", stores[i])
		cmd.Stdin = csv
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("import: %v: %s", err, out)
		}
		servers[i] = start(b, petstore, stores[i])
	}
	for range *rounds {
		for i, name := range m.Servers {
			servers[i].stop()
			servers[i] = start(b, petstore, stores[i])
			servers[i].name, servers[i].pets = name, sizes[i]
			starts.Values[name] = append(starts.Values[name], float64(servers[i].first.Microseconds())/1e3)
		}
	}
	for _, o := range operations[:3] {
		m.measure(b, o, servers)
	}
	m.Rows = append(m.Rows, starts)
	m.write(b)
}

// maxRate is what the load can send from one processor, with room to spare.
const maxRate = 8000

// measure sends requests of an operation to each server in turn, round by round:
// first as many as it can serve, then at half the rate of the slowest. It fails if
// responses differ in size, except canned ones, because then the servers would not
// do the same work.
func (m *measured) measure(b *testing.B, o operation, servers []*server) {
	fmt.Printf("%s: %s\n", m.Name, o.name)
	most := row{Name: o.name, Unit: "requests/s", Values: map[string][]float64{}}
	inTurn(b, servers, func(s *server, round int) error {
		n, err := s.saturate(o, time.Second, round)
		most.Values[s.name] = append(most.Values[s.name], n)
		return err
	})
	rate := maxRate
	for _, values := range most.Values {
		rate = min(rate, max(1, int(quantile(values, 0.5)/2/100))*100)
	}
	cost, size := row{Name: o.name, Unit: "µs", Rate: rate, Values: map[string][]float64{}}, 0.0
	inTurn(b, servers, func(s *server, round int) error {
		p, err := s.pace(o, rate, 1500*time.Millisecond, round)
		cost.Values[s.name] = append(cost.Values[s.name], p.cpu)
		size = cmp.Or(size, p.size)
		switch {
		case err == nil && p.rate < 0.9*float64(rate):
			return fmt.Errorf("%s: %s: got %.0f requests per second instead of %d; is the machine busy?", s.name, o.name, p.rate, rate)
		case err == nil && s.name != peers.Constant && math.Abs(p.size-size) > size/10:
			return fmt.Errorf("%s: %s: the responses have %.0f bytes, but those of the others have %.0f", s.name, o.name, p.size, size)
		}
		return err
	})
	m.Saturated, m.Rows = append(m.Saturated, most), append(m.Rows, cost)
}

// inTurn calls f for each server in each round.
func inTurn(b *testing.B, servers []*server, f func(s *server, round int) error) {
	for round := range *rounds {
		for i := range servers {
			if err := f(servers[(i+round)%len(servers)], round); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func (m *measured) write(b *testing.B) {
	text, err := json.MarshalIndent(m, "", "\t")
	err = errors.Join(err, os.WriteFile("measured/"+m.Name+".json", append(text, '\n'), 0o644))
	for name, text := range report(b) {
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// TestLoads sends requests of each operation to each server, to check that both
// kinds of load work.
func TestLoads(t *testing.T) {
	t.Parallel()
	*binary = filepath.Join(t.TempDir(), "petstore")
	if out, err := exec.Command("go", "build", "-o", *binary, "example.com/petstore/cmd/petstore").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	for _, name := range []string{petstore, peers.Documented, peers.Plain, peers.Prepared, peers.Constant} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, name, "sqlite:"+filepath.Join(t.TempDir(), "pets.db"))
			s.fill(t, 500)
			for _, o := range operations {
				if p, err := s.pace(o, 50, time.Second/5, 0); err != nil || p.cpu == 0 || p.size == 0 || p.rate == 0 {
					t.Errorf("%s: got %+v and error %v", o.name, p, err)
				}
				if n, err := s.saturate(o, time.Second, 0); err != nil || n == 0 {
					t.Errorf("%s: got %v requests per second and error %v", o.name, n, err)
				}
			}
			wrong := operation{"wrong", http.StatusOK, func(*rand.Rand, int) request { return request{"GET", "/v1/cats", ""} }}
			if _, err := s.pace(wrong, 50, time.Second/5, 0); err == nil && name != peers.Constant {
				t.Error("pace: 404 instead of 200: got no error")
			}
			if _, err := s.saturate(wrong, time.Second, 0); err == nil && name != peers.Constant {
				t.Error("saturate: 404 instead of 200: got no error")
			}
		})
	}
}
