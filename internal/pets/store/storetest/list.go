package storetest

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"example.com/petstore/internal/pets"
)

func list(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"An empty store has an empty page and no other", anEmptyStoreHasAnEmptyPageAndNoOther},
		{"A page holds exactly what follows, up to its limit", aPageHoldsExactlyWhatFollows},
		{"More is exact on both sides of every limit", moreIsExactOnBothSidesOfEveryLimit},
		{"A walk meets every pet once whatever the size of its pages", aWalkMeetsEveryPetOnceWhateverTheSizeOfItsPages},
		{"A walk among writers meets every pet from before it once", aWalkAmongWritersMeetsEveryPetFromBeforeItOnce},
	})
}

func anEmptyStoreHasAnEmptyPageAndNoOther(t *testing.T, open opener) {
	s := open(t)
	for _, status := range append(pets.Statuses(), "") {
		for _, after := range []int64{0, 1, math.MaxInt64} {
			checkPage(t, s, nil, pets.Query{Status: status, After: after, Limit: 1})
		}
	}
}

func aPageHoldsExactlyWhatFollows(t *testing.T, open opener) {
	s := open(t)
	all := mustCreateMany(t, s, 31)
	afters := append([]int64{math.MinInt64, -1, 0, math.MaxInt64, pets.MaxID, all[30].ID + 1}, ids(all)...)
	for _, status := range append(pets.Statuses(), "") {
		for _, after := range afters {
			for _, limit := range []int{1, 2, 9, 10, 11, 29, 30, 31, 32, 100, 5000} {
				checkPage(t, s, all, pets.Query{Status: status, After: after, Limit: limit})
			}
		}
	}
}

func moreIsExactOnBothSidesOfEveryLimit(t *testing.T, open opener) {
	s := open(t)
	var all []pets.Pet
	for n := range 8 {
		for _, limit := range []int{max(1, n-1), max(1, n), n + 1} {
			checkPage(t, s, all, pets.Query{Limit: limit})
			checkPage(t, s, all, pets.Query{Status: pets.Sold, Limit: limit})
			checkPage(t, s, all, pets.Query{Status: pets.Pending, Limit: limit})
		}
		all = append(all, mustCreate(t, s, pets.NewPet{Name: "Rex", Status: pets.Sold}))
	}
}

func aWalkMeetsEveryPetOnceWhateverTheSizeOfItsPages(t *testing.T, open opener) {
	s := open(t)
	all := mustCreateMany(t, s, 23)
	for _, status := range append(pets.Statuses(), "") {
		for _, limit := range []int{1, 2, 7, 22, 23, 24} {
			got, want := mustWalk(t, s, status, limit, nil), ofStatus(all, status)
			if !slices.Equal(got, want) {
				t.Errorf("walking status %q by %d: got ids %v, want %v", status, limit, ids(got), ids(want))
			}
		}
	}
}

func aWalkAmongWritersMeetsEveryPetFromBeforeItOnce(t *testing.T, open opener) {
	s := open(t)
	before := mustCreateMany(t, s, 60)
	for _, status := range append(pets.Statuses(), "") {
		t.Run(fmt.Sprintf("status %q", status), func(t *testing.T) { walkAmongWriters(t, s, before, status) })
	}
}

// checkPage compares a page with the same part of a list of all pets.
func checkPage(t tester, s pets.Store, all []pets.Pet, q pets.Query) {
	t.Helper()
	var want []pets.Pet
	for _, p := range ofStatus(all, q.Status) {
		if p.ID > q.After {
			want = append(want, p)
		}
	}
	n := min(q.Limit, len(want))
	page := mustList(t, s, q)
	if !slices.Equal(page.Pets, want[:n]) {
		t.Fatalf("listing %+v: got %d pets with ids %v, want %d with %v", q, len(page.Pets), ids(page.Pets), n, ids(want[:n]))
	}
	if page.More != (n < len(want)) {
		t.Fatalf("listing %+v: got More %v, want %v: %d of %d pets are on the page", q, page.More, !page.More, n, len(want))
	}
}

// walkAmongWriters makes sure by a channel, not by luck, that pets are added
// between any two pages.
func walkAmongWriters(t *testing.T, s pets.Store, before []pets.Pet, status pets.Status) {
	const limit, betweenPages = 5, 2 // fewer are added than a page holds, so the walk ends
	acknowledged, stop := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for {
				if _, err := s.CreatePet(t.Context(), pets.NewPet{Name: "late", Status: statusOf(i)}); err != nil {
					t.Errorf("creating during a walk: got error %v, want a pet", err)
				}
				select {
				case acknowledged <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
	}
	defer writers.Wait()
	defer close(stop)
	walk := mustWalk(t, s, status, limit, func() {
		for range betweenPages {
			<-acknowledged
		}
	})
	met := map[pets.Pet]int{}
	for i, p := range walk {
		met[p]++
		if i > 0 && p.ID <= walk[i-1].ID {
			t.Errorf("walk: got id %d after %d, want a greater one", p.ID, walk[i-1].ID)
		}
	}
	for _, p := range ofStatus(before, status) {
		if met[p] != 1 {
			t.Errorf("walk: got pet %d of before it %d times, want once", p.ID, met[p])
		}
	}
	for p := range met {
		if status != "" && p.Status != status {
			t.Errorf("walk: got pet %d of status %q, want only %q", p.ID, p.Status, status)
		}
	}
}
