//go:build postgres

package postgres_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// 16 at once send the same 200 keys, by two stores as of two replicas, and the
// server is killed and started again among them.
func TestAKillMakesNoSecondPetOfAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	const keys, times, kills = 200, 16, 3
	server := pgtest.Start(t)
	stores := [2]*postgres.Store{open(t, server.Address("postgres")), open(t, server.Address("postgres"))}
	made := make([][keys]pets.Pet, times)
	var calls atomic.Int64
	var wg sync.WaitGroup
	for i := range times {
		wg.Go(func() {
			for n := range keys {
				p := pets.NewPet{
					Name: "pet " + strconv.Itoa(n), Status: pets.Available,
					Idempotency: pets.Idempotency{KeyID: "mine", Key: strconv.Itoa(n)},
				}
				pet, err := stores[i%2].CreatePet(t.Context(), p)
				for ; pets.KindOf(err) == pets.Unavailable; pet, err = stores[i%2].CreatePet(t.Context(), p) {
					time.Sleep(50 * time.Millisecond) // the server takes long to start again
				}
				if err != nil {
					t.Errorf("key %d, time %d: got error %v, want a pet", n, i, err)
				}
				made[i][n] = pet
				calls.Add(1)
			}
		})
	}
	for kill := range kills {
		pgtest.Eventually(t, time.Minute, "ever more of the keys being sent", func() bool {
			return calls.Load() >= int64(keys*times*(kill+1)/(kills+1))
		})
		server.Kill()
		server.Restart(t)
	}
	wg.Wait()
	for i := range times {
		if made[i] != made[0] {
			t.Errorf("time %d: got other pets than the time before, want the same", i)
		}
	}
	if n := pgtest.Query[int](t, server.Address("postgres"), "SELECT count(*) FROM pets"); n != keys {
		t.Errorf("got %d pets, want %d", n, keys)
	}
}
