//go:build postgres

package main

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestReplicasBehindPgBouncer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	pooler := server.Pooler(t)
	fresh := func(t *testing.T) string {
		return pooler.Address(pgtest.CreateDatabase(t, server.Address("postgres"), ""))
	}

	t.Run("many clients create, and nothing is lost or doubled", func(t *testing.T) {
		address := fresh(t)
		replicas := [2]*replica{startReplica(t, address), startReplica(t, address)}
		l := startLoad(t, 16, true, func(n int) *replica { return replicas[n%2] })
		l.more(t, 500)
		l.finish()
		l.check(t, replicas[0], 0)
	})

	t.Run("a request sent to both makes one pet", func(t *testing.T) {
		address := fresh(t)
		replicas := [2]*replica{startReplica(t, address), startReplica(t, address)}
		const keys = 50
		var made [2][keys]string
		var sending sync.WaitGroup
		for i, r := range replicas {
			sending.Go(func() {
				for n := range keys {
					resp, err := ask(t.Context(), probes, http.MethodPost, r.url+"/v1/pets", `{"name":"Rex","categoryId":`+strconv.Itoa(n)+`}`,
						map[string]string{"Idempotency-Key": strconv.Itoa(n)})
					if err != nil || resp.status != http.StatusCreated {
						t.Errorf("key %d, replica %d: got %d %s (error %v), want 201", n, i, resp.status, resp.body, err)
					}
					made[i][n] = string(resp.body)
				}
			})
		}
		sending.Wait()
		if made[0] != made[1] {
			t.Errorf("got the pets %q of one replica and %q of the other, want the same", made[0], made[1])
		}
		if n := len(listAll(t, replicas[0])); n != keys {
			t.Errorf("got %d pets, want %d", n, keys)
		}
	})

	t.Run("keys are known and revoked", func(t *testing.T) { keysAreKnownAndRevoked(t, fresh(t)) })
}
