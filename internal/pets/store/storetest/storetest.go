// Package storetest is the contract of pets.Store as tests, which every
// implementation runs. It asserts what the comments of the interface promise
// and nothing that only one store happens to do: identifiers ascend, but may
// have gaps.
package storetest

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"

	"example.com/petstore/internal/pets"
)

// Run tests the stores that open makes. Each call of open returns an empty
// store of its own, which t's clean-up closes; the tests may have closed it
// before.
func Run(t *testing.T, open func(t *testing.T) pets.Store) {
	runCases(t, open, []testCase{
		{"Pets", storingPets},
		{"List", list},
		{"Load", load},
		{"LoadWithIDs", loadWithIDs},
		{"Idempotency", idempotency},
		{"Keys", keys},
		{"Concurrency", concurrency},
		{"Linearizability", linearizability},
		{"Lifecycle", lifecycle},
		{"Random", random},
	})
}

// opener returns an empty store of t's own.
type opener = func(t *testing.T) pets.Store

// testCase is a promise of the contract, or a group of them.
type testCase struct {
	name string
	run  func(t *testing.T, open opener)
}

func runCases(t *testing.T, open opener, cases []testCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, open) })
	}
}

// tester has the methods of both *testing.T and *rapid.T that are needed here.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

func mustCreate(t tester, s pets.Store, p pets.NewPet) pets.Pet {
	t.Helper()
	pet, err := s.CreatePet(t.Context(), p)
	if err != nil {
		t.Fatalf("creating %.80q: got error %v, want a pet", p.Name, err)
	}
	if want := p.WithID(pet.ID); pet != want {
		t.Fatalf("creating a pet: got %#v, want %#v", pet, want)
	}
	if pet.ID < 1 || pet.ID > pets.MaxID {
		t.Fatalf("creating a pet: got id %d, want one from 1 to %d", pet.ID, int64(pets.MaxID))
	}
	return pet
}

// mustCreateMany returns n new pets, whose statuses take turns.
func mustCreateMany(t tester, s pets.Store, n int) []pets.Pet {
	t.Helper()
	var animals []pets.Pet
	for i := range n {
		p := pets.NewPet{Name: "pet " + strconv.Itoa(i), CategoryID: int64(i), Status: statusOf(i)}
		animals = append(animals, mustCreate(t, s, p))
	}
	return animals
}

func statusOf(i int) pets.Status { return pets.Statuses()[i%len(pets.Statuses())] }

func mustFind(t tester, s pets.Store, want pets.Pet) {
	t.Helper()
	got, err := s.Pet(t.Context(), want.ID)
	if err != nil || got != want {
		t.Errorf("pet %d: got %#v (error %v), want %#v", want.ID, got, err, want)
	}
}

func mustList(t tester, s pets.Store, q pets.Query) pets.Page {
	t.Helper()
	page, err := s.Pets(t.Context(), q)
	if err != nil {
		t.Fatalf("listing %+v: got error %v, want a page", q, err)
	}
	return page
}

// mustWalk returns all pets of that status, read in pages of that size. Where
// between is not nil, it is called before every page but the first.
func mustWalk(t tester, s pets.Store, status pets.Status, limit int, between func()) []pets.Pet {
	t.Helper()
	var all []pets.Pet
	q := pets.Query{Status: status, Limit: limit}
	for {
		page := mustList(t, s, q)
		if len(page.Pets) > 0 && page.Pets[0].ID <= q.After {
			t.Fatalf("listing %+v: got id %d first, want a greater one than After", q, page.Pets[0].ID)
		}
		all = append(all, page.Pets...)
		if !page.More {
			return all
		}
		if len(page.Pets) == 0 {
			t.Fatalf("listing %+v: got an empty page that announces another, want at least one pet", q)
		}
		q.After = page.Pets[len(page.Pets)-1].ID
		if between != nil {
			between()
		}
	}
}

func ofStatus(animals []pets.Pet, status pets.Status) (some []pets.Pet) {
	for _, p := range animals {
		if status == "" || p.Status == status {
			some = append(some, p)
		}
	}
	return some
}

func ids(animals []pets.Pet) []int64 {
	ids := make([]int64, len(animals))
	for i, p := range animals {
		ids[i] = p.ID
	}
	return ids
}

// wantKind checks that err is an error of that kind, and of the domain: Internal
// is also the KindOf of an error without a kind.
func wantKind(t tester, what string, err error, want pets.Kind) {
	t.Helper()
	if err == nil || pets.KindOf(err) != want {
		t.Errorf("%s: got error %v (%v), want %v", what, err, pets.KindOf(err), want)
		return
	}
	if _, ok := errors.AsType[*pets.Error](err); !ok {
		t.Errorf("%s: got %T, want a *pets.Error", what, err)
	}
}

func cancelled(t tester) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// each runs f in n goroutines and waits for them.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// absentIDs are identifiers no store has given to anything in these tests.
var absentIDs = []int64{0, -1, math.MinInt64, pets.MaxID, pets.MaxID + 1, math.MaxInt64}
