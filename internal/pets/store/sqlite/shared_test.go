//go:build unix

package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
)

func TestTwoStoresOnOneFileSeeEachOther(t *testing.T) {
	path := freshPath(t)
	a, b := open(t, path), open(t, path)
	mustFind(t, b, mustCreate(t, a, "from a"))
	mustFind(t, a, mustCreate(t, b, "from b"))

	k, _, err := pets.NewKey("someone", time.Now(), 0)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	if err := a.CreateKey(t.Context(), k); err != nil {
		t.Fatalf("storing a key: got error %v", err)
	}
	if got, err := b.Key(t.Context(), k.ID); err != nil || got != k {
		t.Errorf("the key in the other store: got %v (error %v), want %v", got, err, k)
	}
	revoked, err := b.RevokeKey(t.Context(), k.ID, time.Now())
	if err != nil {
		t.Fatalf("revoking: got error %v", err)
	}
	if got, err := a.Key(t.Context(), k.ID); err != nil || got != revoked || got.RevokedAt.IsZero() {
		t.Errorf("the revoked key in the other store: got %v (error %v), want %v", got, err, revoked)
	}
}

func TestTwoStoresOnOneFileWriteAtOnce(t *testing.T) {
	path := freshPath(t)
	stores := []*sqlite.Store{open(t, path), open(t, path)}
	const each = 100
	var mu sync.Mutex
	created := map[int64]pets.Pet{}
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for n := range each {
				p := pets.NewPet{Name: fmt.Sprint(i, n), Status: pets.Sold}
				pet, err := stores[i%2].CreatePet(t.Context(), p)
				if err != nil {
					t.Errorf("creating: got error %v, want a pet", err)
					return
				}
				mu.Lock()
				created[pet.ID] = pet
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	if len(created) != 8*each {
		t.Errorf("got %d identifiers, want %d", len(created), 8*each)
	}
	for _, pet := range created {
		mustFind(t, stores[0], pet)
		mustFind(t, stores[1], pet)
	}
}

// A process that closes any descriptor of a file gives up all its locks on it
// (POSIX). So the opening of a second store must not open and close the file itself:
// another process could then take the first store's log for a leftover. The SQLite of
// today was not seen to remove the log even so; the test looks at the lock alone.
func TestASecondStoreDoesNotCostTheFirstItsLock(t *testing.T) {
	path := freshPath(t)
	open(t, path)
	if got := locks(t, path); got != 1 {
		t.Errorf("locks on the file: got %d, want 1", got)
	}
	if err := open(t, path).Close(); err != nil {
		t.Errorf("closing the second store: got error %v", err)
	}
	if got := locks(t, path); got != 1 {
		t.Errorf("locks on the file after a second store came and went: got %d, want 1", got)
	}
}

// locks returns how many locks the kernel knows of the file (proc_locks(5)).
func locks(t *testing.T, path string) int {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatalf("%s: got error %v", path, err)
	}
	all, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatalf("reading the locks: got error %v", err)
	}
	return strings.Count(string(all), fmt.Sprintf("%02x:%02x:%d ", st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00, st.Ino))
}

func TestManyGoroutinesOpenAFreshFileAtOnce(t *testing.T) {
	for range 3 {
		path := freshPath(t)
		var openers sync.WaitGroup
		for range 8 {
			openers.Go(func() {
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				if err != nil {
					t.Errorf("opening: got error %v, want a store", err)
					return
				}
				if _, err := s.CreatePet(t.Context(), pets.NewPet{Status: pets.Sold}); err != nil {
					t.Errorf("creating: got error %v, want a pet", err)
				}
				if err := s.Close(); err != nil {
					t.Errorf("closing: got error %v", err)
				}
			})
		}
		openers.Wait()
		checkCount(t, path, 8)
	}
}

func TestManyProcessesOpenAFreshFileAtOnce(t *testing.T) {
	for range 5 {
		path := freshPath(t)
		var competitors []*child
		for range 8 {
			competitors = append(competitors, startChild(t, "compete", path))
		}
		for _, c := range competitors {
			c.mustLine(t)
		}
		for _, c := range competitors {
			_ = c.in.Close() // the signal
		}
		for _, c := range competitors {
			c.mustEnd(t)
		}
		checkCount(t, path, 8)
	}
}

// openOnSignal says that it is ready, waits for the end of its input and then
// opens the store and adds one pet.
func openOnSignal(ctx context.Context, path string) error {
	fmt.Println("ready")
	var b [1]byte
	_, _ = os.Stdin.Read(b[:])
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	if _, err := s.CreatePet(ctx, pets.NewPet{Status: pets.Sold}); err != nil {
		return err
	}
	return s.Close()
}

func checkCount(t *testing.T, path string, want int) {
	t.Helper()
	page, err := open(t, path).Pets(t.Context(), pets.Query{Limit: 100})
	if err != nil || len(page.Pets) != want {
		t.Errorf("got %d pets (error %v), want %d", len(page.Pets), err, want)
	}
}

func TestClosingAmongWritersLosesNothingAcknowledged(t *testing.T) {
	for range 5 {
		path := freshPath(t)
		s := open(t, path)
		const writers = 8
		acknowledged := make([][]pets.Pet, writers)
		var underway, done sync.WaitGroup
		underway.Add(writers)
		for i := range writers {
			done.Go(func() {
				for n := 0; ; n++ {
					if n == 3 {
						underway.Done()
					}
					pet, err := s.CreatePet(t.Context(), pets.NewPet{Name: fmt.Sprint(i, n), Status: pets.Sold})
					if err != nil {
						if pets.KindOf(err) != pets.Unavailable {
							t.Errorf("creating while closing: got error %v, want unavailable", err)
						}
						return
					}
					acknowledged[i] = append(acknowledged[i], pet)
				}
			})
		}
		underway.Wait()
		if err := s.Close(); err != nil {
			t.Errorf("closing: got error %v", err)
		}
		done.Wait()
		ledger := map[int64]pets.Pet{}
		for _, animals := range acknowledged {
			for _, pet := range animals {
				ledger[pet.ID] = pet
			}
		}
		checkLedger(t, path, ledger)
	}
}
