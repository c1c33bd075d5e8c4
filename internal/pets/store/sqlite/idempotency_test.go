package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
)

// childPath has this test binary be the program that is killed.
const childPath = "PETSTORE_TEST_CHILD_PATH"

// 16 at once send the same 200 keys again and again; the program is killed
// among them, and its successor is sent all of them.
func TestAKillMakesNoSecondPetOfAnIdempotencyKey(t *testing.T) {
	const keys, times = 200, 16
	if path := os.Getenv(childPath); path != "" {
		s := open(t, path)
		sendKeys(t, s, keys, times, func(pet pets.Pet, n int) { fmt.Println("acknowledged", n, pet.ID) })
		return
	}
	path := freshPath(t)
	acknowledged := map[int]int64{}
	for round := range 3 { // killed after ever more of the keys
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), childPath+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for limit := 200 + 600*round; lines.Scan(); limit-- {
			var n int
			var id int64
			if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d %d", &n, &id); err != nil {
				continue
			}
			if before, ok := acknowledged[n]; ok && before != id {
				t.Errorf("key %d: got pet %d after %d, want one pet", n, id, before)
			}
			acknowledged[n] = id
			if limit == 0 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // it was killed
	}

	s := open(t, path)
	sendKeys(t, s, keys, times, func(pet pets.Pet, n int) {
		if id, ok := acknowledged[n]; ok && id != pet.ID {
			t.Errorf("key %d: got pet %d after the kill, want %d as before", n, pet.ID, id)
		}
	})
	if len(acknowledged) == 0 {
		t.Error("got no acknowledgement before the kills, want some")
	}
	page, err := s.Pets(t.Context(), pets.Query{Limit: keys + 1})
	if err != nil || len(page.Pets) != keys {
		t.Errorf("got %d pets (error %v), want %d", len(page.Pets), err, keys)
	}
}

// sendKeys sends every key so many times at once and calls made, one call at a
// time, with the responses.
func sendKeys(t *testing.T, s *sqlite.Store, keys, times int, made func(pet pets.Pet, n int)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range times {
		wg.Go(func() {
			for n := range keys {
				pet, err := s.CreatePet(t.Context(), pets.NewPet{
					Name: "pet " + strconv.Itoa(n), Status: pets.Available,
					Idempotency: pets.Idempotency{KeyID: "mine", Key: strconv.Itoa(n)},
				})
				if err != nil {
					t.Errorf("key %d: got error %v, want a pet", n, err)
					return
				}
				mu.Lock()
				made(pet, n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
