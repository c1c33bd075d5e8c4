//go:build wrk && linux

package bench

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/proof/bench/peers"
	"example.com/petstore/internal/store/postgres/pgtest"
)

var (
	rounds  = flag.Int("rounds", 7, "how often each load is sent to each server")
	program = flag.String("petstore", "../../../.bin/petstore", "the program to measure")
)

const (
	pets     = 20_000          // of each store
	many     = 10_000_000      // of the large SQLite file
	duration = 2 * time.Second // of each load
)

// TestMain also runs the peers: "peer NAME STORE ADDR PETS".
func TestMain(m *testing.M) {
	if args := os.Args; len(args) == 6 && args[1] == "peer" {
		n, _ := strconv.Atoi(args[5])
		fmt.Fprintln(os.Stderr, peers.Serve(args[2], args[3], args[4], n))
		os.Exit(1)
	}
	os.Exit(pgtest.Main(m))
}

// BenchmarkPetstore writes the measured files.
func BenchmarkPetstore(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		memory := func(string) string { return "memory:" }
		beside(b, "memory", memory, "petstore", "dressed", "equipped", "constant")
	})
	b.Run("sqlite", func(b *testing.B) {
		file := func(name string) string { return "sqlite:" + filepath.Join(b.TempDir(), name) }
		beside(b, "sqlite", file, "petstore", "dressed", "equipped")
	})
	b.Run("postgres", func(b *testing.B) {
		db := pgtest.Start(b, "fsync=on", "full_page_writes=on", "synchronous_commit=on", "max_wal_size=4GB", "autovacuum=off")
		database := func(name string) string {
			pgtest.Exec(b, db.Address("postgres"), "CREATE DATABASE "+name)
			return db.Address(name)
		}
		beside(b, "postgres", database, "petstore", "dressed", "equipped")
	})
	b.Run("size", size)
}

// beside measures servers on stores of one kind. address returns the address of
// an empty store.
func beside(b *testing.B, kind string, address func(name string) string, names ...string) {
	var servers []*server
	for _, name := range names {
		servers = append(servers, startFilled(b, name, address(name), pets))
	}
	m := newMeasured(kind, names...)
	for _, l := range loads {
		m.measure(b, l, servers)
	}
	m.write(b)
}

// size measures petstore on a small SQLite file and on a large one.
func size(b *testing.B) {
	m := newMeasured("size", "10,000 pets", "10,000,000 pets")
	starts := row{Name: "first response after the start", Unit: "ms", Results: map[string][]result{}}
	var servers []*server
	for i, n := range []int{10_000, many} {
		name, store := m.Servers[i], "sqlite:"+filepath.Join(b.TempDir(), "pets.db")
		importPets(b, store, n)
		s := startPetstore(b, name, store)
		for range *rounds {
			s.stop()
			s = startPetstore(b, name, store)
			starts.Results[name] = append(starts.Results[name], result{Value: float64(s.first.Microseconds()) / 1e3})
		}
		s.pets = n
		servers = append(servers, s)
	}
	for _, l := range loads[:3] {
		m.measure(b, l, servers)
	}
	m.Rows = append(m.Rows, starts)
	m.write(b)
}

// importPets has the program import n pets.
func importPets(b *testing.B, store string, n int) {
	r, w := io.Pipe()
	go func() {
		buffer := bufio.NewWriter(w)
		fmt.Fprintln(buffer, "name,categoryId,status")
		for p := range peers.Pets(n) {
			fmt.Fprintf(buffer, "%s,%d,%s\n", p.Name, p.CategoryID, p.Status)
		}
		w.CloseWithError(buffer.Flush())
	}()
	cmd := exec.Command(*program, "import", "-", "--format", "csv", "--store", store)
	cmd.Stdin = r
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("import: %v: %s", err, out)
	}
}

// measure sends l to the servers in turns, round by round.
func (m *measured) measure(b *testing.B, l load, servers []*server) {
	fmt.Printf("%s: %s\n", m.Name, l.name)
	r := row{Name: l.name, Unit: "µs", Results: map[string][]result{}}
	for round := range *rounds {
		for i := range servers {
			s := servers[(i+round)%len(servers)]
			did, err := l.run(b, s, duration, round)
			if err != nil {
				b.Fatal(err)
			}
			r.Results[s.name] = append(r.Results[s.name], did)
		}
	}
	want := r.Results[servers[0].name][0].bytes
	for _, s := range servers {
		if got := r.Results[s.name][0].bytes; s.name != "constant" && (got < want*0.9 || got > want*1.1) {
			b.Fatalf("%s: a response of %s has %.0f bytes, and of %s %.0f", l.name, s.name, got, servers[0].name, want)
		}
	}
	m.Rows = append(m.Rows, r)
}

// write writes the measured file, the chart and the table of README.md.
func (m *measured) write(b *testing.B) {
	text, err := json.MarshalIndent(m, "", "\t")
	if err == nil {
		err = os.WriteFile("measured/"+m.Name+".json", append(text, '\n'), 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range report(b) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}
