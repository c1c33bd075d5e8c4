//go:build wrk && linux

package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
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
	rounds  = flag.Int("rounds", 7, "how often each load is sent to each server")
	program = flag.String("petstore", "../../../.bin/petstore", "the program to measure")
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
		beside(b, "memory", func(string) string { return "memory:" }, "constant")
	})
	b.Run("sqlite", func(b *testing.B) {
		beside(b, "sqlite", func(name string) string { return "sqlite:" + filepath.Join(b.TempDir(), name) }, "prepared")
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
	m := newMeasured(kind, append([]string{"petstore", "dressed", "equipped"}, more...)...)
	var servers []*server
	for _, name := range m.Servers {
		address := store(name)
		s := start(b, name, address)
		s.fill(b, 20_000)
		if kind == "postgres" {
			pgtest.Exec(b, address, "VACUUM ANALYZE pets")
		}
		servers = append(servers, s)
	}
	for _, l := range loads {
		m.measure(b, l, servers)
	}
	m.write(b)
}

// size measures petstore on a small SQLite file and on a large one.
func size(b *testing.B) {
	m := newMeasured("size", "10,000 pets", "10,000,000 pets")
	starts := row{Name: "first response after the start", Unit: "ms", Values: map[string][]float64{}}
	sizes, stores, servers := []int{10_000, 10_000_000}, make([]string, 2), make([]*server, 2)
	for i, n := range sizes {
		stores[i] = "sqlite:" + filepath.Join(b.TempDir(), "pets.db")
		csv := bytes.NewBufferString("name,categoryId,status\n")
		for p := range peers.Pets(n) {
			fmt.Fprintf(csv, "%s,%d,%s\n", p.Name, p.CategoryID, p.Status)
		}
		cmd := exec.Command(*program, "import", "-", "--format", "csv", "--store", stores[i])
		cmd.Stdin = csv
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("import: %v: %s", err, out)
		}
		servers[i] = start(b, "petstore", stores[i])
	}
	for range *rounds {
		for i, name := range m.Servers {
			servers[i].stop()
			servers[i] = start(b, "petstore", stores[i])
			servers[i].name, servers[i].pets = name, sizes[i]
			starts.Values[name] = append(starts.Values[name], float64(servers[i].first.Microseconds())/1e3)
		}
	}
	for _, l := range loads[:3] {
		m.measure(b, l, servers)
	}
	m.Rows = append(m.Rows, starts)
	m.write(b)
}

// measure sends l to each server in turn, round by round. It fails if responses
// differ in size, except those of constant, because then the servers would not do
// the same work.
func (m *measured) measure(b *testing.B, l load, servers []*server) {
	fmt.Printf("%s: %s\n", m.Name, l.name)
	r := row{Name: l.name, Unit: "µs", Values: map[string][]float64{}}
	want := 0.0 // the size of a response
	for round := range *rounds {
		for i := range servers {
			s := servers[(i+round)%len(servers)]
			cpu, size, err := l.run(b, s, 2*time.Second, round)
			if err != nil {
				b.Fatal(err)
			}
			if want = cmp.Or(want, size); s.name != "constant" && (size < want*0.9 || size > want*1.1) {
				b.Fatalf("%s: %s: the responses have %.0f bytes, but those of the others have %.0f", l.name, s.name, size, want)
			}
			r.Values[s.name] = append(r.Values[s.name], cpu)
		}
	}
	m.Rows = append(m.Rows, r)
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

// TestLoads sends each load to each server for a second, to check that both work.
func TestLoads(t *testing.T) {
	t.Parallel()
	*program = filepath.Join(t.TempDir(), "petstore")
	if out, err := exec.Command("go", "build", "-o", *program, "example.com/petstore/cmd/petstore").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	for _, name := range []string{"petstore", "dressed", "equipped", "prepared", "constant"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, name, "sqlite:"+filepath.Join(t.TempDir(), "pets.db"))
			s.fill(t, 500)
			for _, l := range loads[:4] {
				if cpu, size, err := l.run(t, s, time.Second, 0); err != nil || cpu == 0 || size == 0 {
					t.Errorf("%s: got %v µs, %v bytes and error %v", l.name, cpu, size, err)
				}
			}
			wrong := loads[0]
			wrong.status = http.StatusCreated
			if _, _, err := wrong.run(t, s, time.Second, 0); err == nil {
				t.Error("200 instead of 201: got no error")
			}
		})
	}
}
