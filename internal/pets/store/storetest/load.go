package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"testing"

	"example.com/petstore/internal/pets"
)

func load(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"Loaded pets come behind those there are, in their order", loadedPetsComeBehindThoseThereAre},
		{"A load takes every name and category as they are", aLoadTakesEveryNameAndCategoryAsTheyAre},
		{"A load that ends early leaves nothing behind", aLoadThatEndsEarlyLeavesNothingBehind},
		{"A load is not seen before its end, and then whole", aLoadIsNotSeenBeforeItsEnd},
		{"A caller who leaves during a load leaves nothing behind", aCallerWhoLeavesDuringALoadLeavesNothingBehind},
		{"Loads and creates at once have identifiers of their own", loadsAndCreatesAtOnceHaveIdentifiersOfTheirOwn},
		{"A walk among loads meets every pet from before it once", aWalkAmongLoadsMeetsEveryPetFromBeforeItOnce},
	})
}

func loadedPetsComeBehindThoseThereAre(t *testing.T, open opener) {
	s := open(t)
	all := mustCreateMany(t, s, 3)
	for _, n := range []int{0, 1, 300} { // more than a statement, a page or a buffer of any store holds
		all = append(all, mustLoad(t, s, newPets(n))...)
		all = append(all, mustCreate(t, s, pets.NewPet{Name: "after " + strconv.Itoa(n), Status: pets.Sold}))
	}
	for _, status := range append(pets.Statuses(), "") {
		if got, want := mustWalk(t, s, status, 100, nil), ofStatus(all, status); !slices.Equal(got, want) {
			t.Errorf("walking status %q: got %d pets with ids %v, want %d with %v", status, len(got), ids(got), len(want), ids(want))
		}
	}
}

func aLoadTakesEveryNameAndCategoryAsTheyAre(t *testing.T, open opener) {
	var all []pets.NewPet
	for _, name := range names {
		all = append(all, pets.NewPet{Name: name, CategoryID: int64(len(all)), Status: pets.Pending})
	}
	for _, category := range []int64{math.MinInt64, -1, 0, 9007199254740993, math.MaxInt64} {
		all = append(all, pets.NewPet{Name: "Rex", CategoryID: category, Status: pets.Sold})
	}
	mustLoad(t, open(t), all)
}

func aLoadThatEndsEarlyLeavesNothingBehind(t *testing.T, open opener) {
	s := open(t)
	before := mustCreateMany(t, s, 2)
	broken := errors.New("the file broke off")
	for what, c := range map[string]struct {
		last pets.NewPet
		err  error
		kind pets.Kind
	}{
		"an error of the caller's own": {err: broken},
		"an invalid name":              {last: pets.NewPet{Name: "a\x00b", Status: pets.Sold}, kind: pets.Invalid},
		"no status":                    {last: pets.NewPet{Name: "Rex"}, kind: pets.Invalid},
		"an idempotency key":           {last: pets.NewPet{Status: pets.Sold, Idempotency: pets.Idempotency{KeyID: "mine", Key: "k"}}, kind: pets.Invalid},
	} {
		n, err := s.Load(t.Context(), ending(sequence(newPets(300)), c.last, c.err))
		if n != 0 {
			t.Errorf("%s: got %d pets beside the error, want 0", what, n)
		}
		if c.err != nil {
			if err != c.err {
				t.Errorf("%s: got error %v, want %v as it is", what, err, c.err)
			}
		} else {
			wantKind(t, what, err, c.kind)
		}
		if got := mustWalk(t, s, "", 100, nil); !slices.Equal(got, before) {
			t.Errorf("%s: got %d pets afterwards, want the %d from before", what, len(got), len(before))
		}
	}
	mustLoad(t, s, newPets(3))
}

func aLoadIsNotSeenBeforeItsEnd(t *testing.T, open opener) {
	s := open(t)
	before := mustCreateMany(t, s, 2)
	const n = 1000
	seen := func() int { return len(mustWalk(t, s, "", 2*n, nil)) }
	last, finish, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
			for i, p := range newPets(n) {
				if i == n-1 {
					close(last)
					<-finish
				}
				if !yield(p, nil) {
					return
				}
			}
		})
		ended <- err
	}()
	<-last
	if got := seen(); got != len(before) {
		t.Errorf("during a load: got %d pets, want %d", got, len(before))
	}
	close(finish)
	if err := <-ended; err != nil {
		t.Fatalf("loading: got error %v", err)
	}
	if got := seen(); got != len(before)+n {
		t.Errorf("after a load: got %d pets, want %d", got, len(before)+n)
	}
}

func aCallerWhoLeavesDuringALoadLeavesNothingBehind(t *testing.T, open opener) {
	s := open(t)
	_, err := s.Load(cancelled(t), sequence(newPets(3)))
	wantKind(t, "with a caller who has left before", err, pets.Unavailable)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = s.Load(ctx, func(yield func(pets.NewPet, error) bool) {
		for i, p := range newPets(300) {
			if i == 200 {
				cancel()
			}
			if !yield(p, nil) {
				return
			}
		}
	})
	wantKind(t, "with a caller who leaves", err, pets.Unavailable)
	checkPage(t, s, nil, pets.Query{Limit: 1})
	mustLoad(t, s, newPets(3))
}

func loadsAndCreatesAtOnceHaveIdentifiersOfTheirOwn(t *testing.T, open opener) {
	s := open(t)
	const loads, creates, size = 4, 20, 150
	each(2*loads, func(i int) {
		if i < loads {
			if n, err := s.Load(t.Context(), sequence(newPets(size))); err != nil || n != size {
				t.Errorf("loading: got %d pets (error %v), want %d", n, err, size)
			}
			return
		}
		for range creates {
			mustFind(t, s, mustCreate(t, s, pets.NewPet{Name: "created", Status: pets.Sold}))
		}
	})
	all := mustWalk(t, s, "", 97, nil)
	if want := loads * (creates + size); len(all) != want {
		t.Errorf("got %d pets, want %d", len(all), want)
	}
}

func aWalkAmongLoadsMeetsEveryPetFromBeforeItOnce(t *testing.T, open opener) {
	s := open(t)
	before := mustCreateMany(t, s, 30)
	walk := mustWalk(t, s, "", 7, func() {
		if _, err := s.Load(t.Context(), sequence(newPets(3))); err != nil {
			t.Errorf("loading: got error %v", err)
		}
	})
	if !slices.Equal(walk[:len(before)], before) {
		t.Errorf("walk: got ids %v, want it to begin with %v", ids(walk), ids(before))
	}
}

func loadWithIDs(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"Pets loaded with identifiers are the same, and later pets come behind them", petsLoadedWithIDsAreTheSame},
		{"Nothing is loaded with identifiers into a store that holds pets", nothingIsLoadedWithIDsIntoAStoreThatHoldsPets},
		{"A load with identifiers that ends early leaves an empty store", aLoadWithIDsThatEndsEarlyLeavesAnEmptyStore},
		{"After the last identifier there is none", afterTheLastIdentifierThereIsNone},
		{"A load for which there are too few identifiers leaves nothing behind", aLoadWithTooFewIdentifiersLeavesNothingBehind},
		{"Of loads with identifiers at once one is granted", ofLoadsWithIDsAtOnceOneIsGranted},
	})
}

func petsLoadedWithIDsAreTheSame(t *testing.T, open opener) {
	s := open(t)
	all := gappy(300)
	mustLoadWithIDs(t, s, all)
	for _, pet := range all {
		mustFind(t, s, pet)
	}
	for _, id := range append([]int64{all[0].ID - 1, all[1].ID - 1, all[299].ID + 1}, absentIDs...) {
		_, err := s.Pet(t.Context(), id)
		wantKind(t, fmt.Sprintf("pet %d", id), err, pets.NotFound)
	}
	later := append(mustLoad(t, s, newPets(2)), mustCreateMany(t, s, 2)...)
	if later[0].ID <= all[299].ID || later[2].ID <= later[1].ID {
		t.Errorf("later: got ids %v, want them ascending above %d", ids(later), all[299].ID)
	}
	all = append(all, later...)
	for _, status := range append(pets.Statuses(), "") {
		for _, after := range []int64{0, 1, all[5].ID - 1, all[5].ID, all[5].ID + 1, all[299].ID, math.MaxInt64} {
			checkPage(t, s, all, pets.Query{Status: status, After: after, Limit: 100})
		}
	}
}

func nothingIsLoadedWithIDsIntoAStoreThatHoldsPets(t *testing.T, open opener) {
	s := open(t)
	all := mustCreateMany(t, s, 1)
	n, err := s.LoadWithIDs(t.Context(), sequence([]pets.Pet{{ID: 7, Status: pets.Sold}}))
	wantKind(t, "loading with identifiers", err, pets.Invalid)
	if n != 0 {
		t.Errorf("loading with identifiers: got %d pets beside the error, want 0", n)
	}
	checkPage(t, s, all, pets.Query{Limit: 100})
}

func aLoadWithIDsThatEndsEarlyLeavesAnEmptyStore(t *testing.T, open opener) {
	s := open(t)
	for what, last := range map[string]pets.Pet{
		"an identifier twice":      {ID: gappy(3)[2].ID, Status: pets.Sold},
		"a smaller identifier":     {ID: gappy(3)[2].ID - 1, Status: pets.Sold},
		"no identifier":            {Status: pets.Sold},
		"a negative identifier":    {ID: -1, Status: pets.Sold},
		"too great an identifier":  {ID: pets.MaxID + 1, Status: pets.Sold},
		"an invalid name":          {ID: pets.MaxID, Name: "\x00", Status: pets.Sold},
		"a status there is not":    {ID: pets.MaxID, Status: "lost"},
		"text that is not Unicode": {ID: pets.MaxID, Name: "\xff", Status: pets.Sold},
	} {
		_, err := s.LoadWithIDs(t.Context(), ending(sequence(gappy(3)), last, nil))
		wantKind(t, what, err, pets.Invalid)
		checkPage(t, s, nil, pets.Query{Limit: 1})
	}
	mustLoadWithIDs(t, s, gappy(3))
}

func afterTheLastIdentifierThereIsNone(t *testing.T, open opener) {
	s := open(t)
	all := []pets.Pet{{ID: pets.MaxID - 1, Name: "last but one", Status: pets.Sold}}
	mustLoadWithIDs(t, s, all)
	all = append(all, mustCreate(t, s, pets.NewPet{Name: "last", Status: pets.Sold}))
	_, err := s.CreatePet(t.Context(), pets.NewPet{Name: "one more", Status: pets.Sold})
	wantKind(t, "creating one more", err, pets.Internal)
	_, err = s.Load(t.Context(), sequence(newPets(1)))
	wantKind(t, "loading one more", err, pets.Internal)
	checkPage(t, s, all, pets.Query{Limit: 100})
}

func aLoadWithTooFewIdentifiersLeavesNothingBehind(t *testing.T, open opener) {
	s := open(t)
	all := []pets.Pet{{ID: pets.MaxID - 300, Name: "last", Status: pets.Sold}}
	mustLoadWithIDs(t, s, all)
	_, err := s.Load(t.Context(), sequence(newPets(400)))
	wantKind(t, "loading", err, pets.Internal)
	checkPage(t, s, all, pets.Query{Limit: 100})
}

func ofLoadsWithIDsAtOnceOneIsGranted(t *testing.T, open opener) {
	s := open(t)
	errs := make([]error, 4)
	each(len(errs), func(i int) { _, errs[i] = s.LoadWithIDs(t.Context(), sequence(gappy(200))) })
	granted := 0
	for _, err := range errs {
		if err == nil {
			granted++
			continue
		}
		wantKind(t, "the others", err, pets.Invalid)
	}
	if granted != 1 {
		t.Errorf("got %d loads granted, want 1", granted)
	}
	if got := mustWalk(t, s, "", 100, nil); !slices.Equal(got, gappy(200)) {
		t.Errorf("got %d pets, want %d", len(got), 200)
	}
}

// newPets returns n pets, whose statuses take turns.
func newPets(n int) []pets.NewPet {
	animals := make([]pets.NewPet, n)
	for i := range animals {
		animals[i] = pets.NewPet{Name: "loaded " + strconv.Itoa(i), CategoryID: int64(i), Status: statusOf(i)}
	}
	return animals
}

// gappy returns n pets with gaps between their identifiers.
func gappy(n int) []pets.Pet {
	animals := make([]pets.Pet, n)
	for i, p := range newPets(n) {
		animals[i] = p.WithID(int64(3*i + 5))
	}
	return animals
}

func sequence[P any](animals []P) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for _, p := range animals {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// ending returns pets and then one more, or an error.
func ending[P any](animals iter.Seq2[P, error], last P, err error) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for p := range animals {
			if !yield(p, nil) {
				return
			}
		}
		yield(last, err)
	}
}

// mustLoad returns the pets as they were stored, which no other call may have
// done meanwhile.
func mustLoad(t tester, s pets.Store, animals []pets.NewPet) []pets.Pet {
	t.Helper()
	q := pets.Query{Limit: 1000}
	for _, p := range mustWalk(t, s, "", 1000, nil) {
		q.After = p.ID
	}
	n, err := s.Load(t.Context(), sequence(animals))
	if err != nil || n != len(animals) {
		t.Fatalf("loading: got %d pets (error %v), want %d", n, err, len(animals))
	}
	stored := mustList(t, s, q).Pets
	if len(stored) != len(animals) {
		t.Fatalf("loaded: got %d pets, want %d", len(stored), len(animals))
	}
	for i, p := range animals {
		if want := p.WithID(stored[i].ID); stored[i] != want {
			t.Fatalf("loaded pet %d: got %.80v, want %.80v", i, stored[i], want)
		}
	}
	return stored
}

func mustLoadWithIDs(t tester, s pets.Store, animals []pets.Pet) {
	t.Helper()
	if n, err := s.LoadWithIDs(t.Context(), sequence(animals)); err != nil || n != len(animals) {
		t.Fatalf("loading with identifiers: got %d pets (error %v), want %d", n, err, len(animals))
	}
}
