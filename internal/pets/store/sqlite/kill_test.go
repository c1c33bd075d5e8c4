//go:build unix

package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
)

// createUntilKilled creates pets from several goroutines and writes a line for
// each that was acknowledged. A line is one write of less than PIPE_BUF bytes,
// so the reader sees all of it or nothing.
func createUntilKilled(ctx context.Context, path string) error {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	var writers errgroup.Group
	for i := range 8 {
		writers.Go(func() error {
			for n := 0; ; n++ {
				// A few hundred bytes, so that the log is folded in some rounds.
				p := pets.NewPet{Name: fmt.Sprintf("%d/%d/%d %s", os.Getpid(), i, n, strings.Repeat("🐈", n%100)), CategoryID: int64(n), Status: pets.Statuses()[n%3]}
				pet, err := s.CreatePet(ctx, p)
				if err != nil {
					return err
				}
				printPet(pet)
			}
		})
	}
	return writers.Wait()
}

func printPet(pet pets.Pet) {
	fmt.Printf("%d\t%d\t%s\t%s\n", pet.ID, pet.CategoryID, pet.Status, pet.Name)
}

func TestWhatWasAcknowledgedSurvivesKill9(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	path := freshPath(t)
	ledger := map[int64]pets.Pet{}
	const rounds, most = 24, 500
	for round := range rounds {
		c := startChild(t, "create", path)
		for range 1 + random.IntN(most) {
			note(t, ledger, c.mustLine(t))
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatalf("killing the child: got error %v", err)
		}
		for c.lines.Scan() { // what it was told between the last line and its death
			note(t, ledger, c.lines.Text())
		}
		if err := c.Wait(); err == nil {
			t.Error("the child: got success, want it killed")
		}
		checkLedger(t, path, ledger)
		t.Logf("round %d: %d pets acknowledged so far", round, len(ledger))
	}
}

// note enters a line of printPet into the ledger.
func note(t *testing.T, ledger map[int64]pets.Pet, line string) {
	t.Helper()
	f := strings.SplitN(line, "\t", 4)
	if len(f) != 4 {
		t.Fatalf("a line of the child: got %q, want four fields", line)
	}
	id, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		t.Fatalf("a line of the child: got %q, want an id first", line)
	}
	category, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		t.Fatalf("a line of the child: got %q, want a category second", line)
	}
	if before, twice := ledger[id]; twice {
		t.Errorf("id %d: got it for %.40q and for %.40q, want ids used once", id, before.Name, f[3])
	}
	ledger[id] = pets.Pet{ID: id, CategoryID: category, Status: pets.Status(f[2]), Name: f[3]}
}

func checkLedger(t *testing.T, path string, ledger map[int64]pets.Pet) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("reopening: got error %v", err)
	}
	there := map[int64]pets.Pet{}
	for q := (pets.Query{Limit: 1000}); ; {
		page, err := s.Pets(t.Context(), q)
		if err != nil {
			t.Fatalf("listing: got error %v", err)
		}
		for _, pet := range page.Pets {
			there[pet.ID] = pet
			q.After = pet.ID
		}
		if !page.More {
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: got error %v", err)
	}
	lost := 0
	for id, want := range ledger {
		if got := there[id]; got != want {
			if lost++; lost <= 3 {
				t.Errorf("acknowledged pet %d: got %#v, want %#v", id, got, want)
			}
		}
	}
	if lost > 0 {
		t.Fatalf("got %d of %d acknowledged pets lost or changed, want none", lost, len(ledger))
	}
}
