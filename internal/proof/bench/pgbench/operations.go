//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres"
	"example.com/petstore/internal/proof/bench/rig"
)

// pets is the number of pets before the measuring begins. Gets and lists pick from
// them.
const animals = 10_000

// fill makes them.
var fill = []string{
	fmt.Sprintf(`INSERT INTO pets (name, category_id, status)
SELECT 'Frank', n %% 5, (ARRAY['available', 'pending', 'sold'])[n %% 3 + 1] FROM generate_series(1, %d) n`, animals),
	"VACUUM ANALYZE pets",
}

// operation is an operation of the service, and the script with which pgbench does
// the same.
type operation struct {
	name        string
	requests    [][]byte
	call        func(context.Context, *postgres.Store) error
	script      string
	variables   []string // of the script, beside values
	commitDelay time.Duration
}

// created is the pet that creates make. pgbench counts its idempotency keys itself.
var created = pets.NewPet{
	Name: "Frank", CategoryID: 1, Status: pets.Pending,
	Idempotency: pets.Idempotency{KeyID: "pgbench", Key: "counted"},
}

// operations returns the operations whose names contain wanted. A page of 20 is
// asked for with one more row, as the store does.
func operations(wanted string) []operation {
	insert, variables := insertScript()
	all := []operation{
		{
			name:     "create",
			requests: [][]byte{rig.Post(`{"name":"Frank","categoryId":1,"status":"pending"}`)},
			call: func(ctx context.Context, s *postgres.Store) error {
				p := created
				p.Idempotency = pets.Idempotency{}
				_, err := s.CreatePet(ctx, p)
				return err
			},
			// Every client counts for itself, from a number that no run before it had.
			script:    "\\set n :n + 1\n\\set key :base + :client_id * 1000000000 + :n\n" + insert,
			variables: variables,
		},
		{
			name:     "list",
			requests: targets(func() string { return fmt.Sprintf("/v1/pets?limit=20&after=%d", rand.N(animals-100)) }),
			call: func(ctx context.Context, s *postgres.Store) error {
				_, err := s.Pets(ctx, pets.Query{Limit: 20, After: rand.Int64N(animals - 100)})
				return err
			},
			script: fmt.Sprintf("\\set after random(0, %d)\n", animals-101) + with(postgres.SelectPets, ":after", ":most"),
		},
		{
			name:     "filtered list",
			requests: targets(func() string { return fmt.Sprintf("/v1/pets?limit=20&status=sold&after=%d", rand.N(animals-100)) }),
			call: func(ctx context.Context, s *postgres.Store) error {
				_, err := s.Pets(ctx, pets.Query{Limit: 20, Status: pets.Sold, After: rand.Int64N(animals - 100)})
				return err
			},
			script: fmt.Sprintf("\\set after random(0, %d)\n", animals-101) + with(postgres.SelectPetsByStatus, ":sold", ":after", ":most"),
		},
		{
			name:     "get",
			requests: targets(func() string { return fmt.Sprintf("/v1/pets/%d", 1+rand.N(animals)) }),
			call: func(ctx context.Context, s *postgres.Store) error {
				_, err := s.Pet(ctx, 1+rand.Int64N(animals))
				return err
			},
			script: fmt.Sprintf("\\set id random(1, %d)\n", animals) + with(postgres.SelectPet, ":id"),
		},
	}
	// The commits of this server cost next to nothing. Commits that wait for a disk
	// or a standby do not.
	slow := all[0]
	slow.name, slow.commitDelay = "create, commits of 2 ms", 2*time.Millisecond
	all = slices.Insert(all, 1, slow)
	return slices.DeleteFunc(all, func(op operation) bool { return !strings.Contains(op.name, wanted) })
}

// values are the variables that the scripts use and do not set.
var values = []string{"sold=sold", "most=21", "n=0"}

// insertScript returns the statement that stores created, and the variables that
// stand for its arguments. The last argument is the idempotency key.
func insertScript() (script string, variables []string) {
	statement, args := postgres.InsertPet(created)
	names := make([]string, len(args))
	for i, arg := range args {
		names[i] = fmt.Sprintf(":arg%d", i+1)
		variables = append(variables, fmt.Sprintf("arg%d=%v", i+1, reflect.Indirect(reflect.ValueOf(arg))))
	}
	names[len(names)-1] = ":key"
	return with(statement, names...), variables
}

// with puts pgbench's variables in the place of a statement's parameters, from the
// last on: $1 is a part of $10. In pgbench's prepared mode they are parameters again.
func with(statement string, variables ...string) string {
	for i, v := range slices.Backward(variables) {
		statement = strings.ReplaceAll(statement, fmt.Sprintf("$%d", i+1), v)
	}
	return strings.ReplaceAll(statement, "\n", " ") + ";\n"
}

func targets(pick func() string) [][]byte {
	requests := make([][]byte, 4096)
	for i := range requests {
		requests[i] = rig.Get(pick())
	}
	return requests
}
