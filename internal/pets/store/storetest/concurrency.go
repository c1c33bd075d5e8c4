package storetest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

func concurrency(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"Pets created at once have identifiers of their own and are all found", petsCreatedAtOnceHaveIdentifiersOfTheirOwnAndAreAllFound},
		{"A key stored by many at once is stored once", aKeyStoredByManyAtOnceIsStoredOnce},
		{"A key revoked by many at once has one time of revocation", aKeyRevokedByManyAtOnceHasOneTimeOfRevocation},
		{"A caller who has gone is told the truth or that the store was unavailable", aCallerWhoHasGoneIsToldTheTruth},
		{"A revocation said not to have happened has not", aRevocationSaidNotToHaveHappenedHasNot},
		{"A pet said not to have been created is not there", aPetSaidNotToHaveBeenCreatedIsNotThere},
		{"Final reads stay as they were while pets are created", finalReadsStayAsTheyWere},
	})
}

func petsCreatedAtOnceHaveIdentifiersOfTheirOwnAndAreAllFound(t *testing.T, open opener) {
	s := open(t)
	const writers, animals = 16, 20
	created := make([][]pets.Pet, writers)
	each(writers, func(i int) {
		for n := range animals {
			p := pets.NewPet{Name: fmt.Sprintf("pet %d of writer %d", n, i), CategoryID: int64(n), Status: statusOf(n)}
			pet, err := s.CreatePet(t.Context(), p)
			if err != nil || pet != p.WithID(pet.ID) {
				t.Errorf("creating %#v: got %#v (error %v), want it with an id", p, pet, err)
				return
			}
			if n > 0 && pet.ID <= created[i][n-1].ID {
				t.Errorf("writer %d: got id %d after %d, want a greater one", i, pet.ID, created[i][n-1].ID)
			}
			// A caller that is told of a pet can read it at once.
			mustFind(t, s, pet)
			created[i] = append(created[i], pet)
		}
	})
	listed := map[int64]pets.Pet{}
	for _, pet := range mustWalk(t, s, "", 50, nil) {
		listed[pet.ID] = pet
	}
	for _, animals := range created {
		for _, pet := range animals {
			if listed[pet.ID] != pet {
				t.Errorf("listed pet %d: got %#v, want %#v", pet.ID, listed[pet.ID], pet)
			}
		}
	}
	if len(listed) != writers*animals {
		t.Errorf("got %d pets, want %d", len(listed), writers*animals)
	}
}

func aKeyStoredByManyAtOnceIsStoredOnce(t *testing.T, open opener) {
	s := open(t)
	k, _, err := pets.NewKey("someone", noon, 0)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	errs := make([]error, 8)
	each(len(errs), func(i int) { errs[i] = s.CreateKey(t.Context(), k) })
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		}
	}
	if stored != 1 {
		t.Errorf("got it stored %d times, want once", stored)
	}
	mustFindKey(t, s, k)
}

func aKeyRevokedByManyAtOnceHasOneTimeOfRevocation(t *testing.T, open opener) {
	s := open(t)
	k := mustCreateKey(t, s, "someone", noon, 0)
	got := make([]pets.Key, 8)
	errs := make([]error, len(got))
	each(len(got), func(i int) {
		got[i], errs[i] = s.RevokeKey(t.Context(), k.ID, noon.Add(time.Duration(i)*time.Second))
	})
	for i := range got {
		if errs[i] != nil || got[i] != got[0] || got[i].RevokedAt.IsZero() {
			t.Errorf("revoking, caller %d: got %v (error %v), want %v", i, got[i], errs[i], got[0])
		}
	}
	mustFindKey(t, s, got[0])
}

func aCallerWhoHasGoneIsToldTheTruth(t *testing.T, open opener) {
	s := open(t)
	pet := mustCreate(t, s, pets.NewPet{Name: "Rex", Status: pets.Sold})
	key := mustCreateKey(t, s, "someone", noon, 0)
	ctx := cancelled(t)
	// Several times, since a store may find out by chance that the caller has gone.
	for range 20 {
		if got, err := s.Pet(ctx, pet.ID); err != nil {
			wantKind(t, "reading a pet", err, pets.Unavailable)
		} else if got != pet {
			t.Errorf("pet %d: got %#v, want %#v", pet.ID, got, pet)
		}
		if got, err := s.Pets(ctx, pets.Query{Limit: 1}); err != nil {
			wantKind(t, "listing", err, pets.Unavailable)
		} else if len(got.Pets) != 1 || got.Pets[0] != pet {
			t.Errorf("listing: got %#v, want %#v", got.Pets, pet)
		}
		if got, err := s.Key(ctx, key.ID); err != nil {
			wantKind(t, "reading a key", err, pets.Unavailable)
		} else if got != key {
			t.Errorf("key %q: got %v, want %v", key.ID, got, key)
		}
		if got, err := s.Keys(ctx); err != nil {
			wantKind(t, "listing keys", err, pets.Unavailable)
		} else if len(got) != 1 || got[0] != key {
			t.Errorf("listing keys: got %v, want %v", got, key)
		}
		if err := s.Ping(ctx); err != nil {
			wantKind(t, "pinging", err, pets.Unavailable)
		}
	}
}

func aRevocationSaidNotToHaveHappenedHasNot(t *testing.T, open opener) {
	s := open(t)
	revoke := func(ctx context.Context) {
		k := mustCreateKey(t, s, "someone", noon, 0)
		got, err := s.RevokeKey(ctx, k.ID, noon)
		switch {
		case err == nil:
			k.RevokedAt = noon
			if got != k {
				t.Errorf("revoking: got %v, want %v", got, k)
			}
		case pets.KindOf(err) == pets.Internal:
			return // the outcome is unknown, as in ledger.create
		default:
			wantKind(t, "revoking", err, pets.Unavailable)
		}
		mustFindKey(t, s, k)
	}
	for range 20 {
		revoke(cancelled(t))
	}
	for moment := range 100 {
		cancelDuring(t, moment, revoke)
	}
}

func aPetSaidNotToHaveBeenCreatedIsNotThere(t *testing.T, open opener) {
	s := open(t)
	l := ledger{}
	ctx := cancelled(t)
	for i := range 50 {
		l.create(ctx, t, s, "cancelled before "+strconv.Itoa(i))
	}
	each(8, func(i int) {
		for moment := range 50 {
			cancelDuring(t, moment, func(ctx context.Context) {
				l.create(ctx, t, s, fmt.Sprintf("cancelled during %d %d", i, moment))
			})
		}
	})
	// A write after all of them, so that nothing is still on its way.
	l.create(t.Context(), t, s, "last")
	l.check(t, s)
}

// cancelDuring runs f with a context that ends at that moment, a number of turns of the
// scheduler: few at the first moment, and more up to the fiftieth. Together the moments
// cover a write that waits, runs and is committed.
func cancelDuring(t tester, moment int, f func(context.Context)) {
	ctx, cancel := context.WithCancel(t.Context())
	var over atomic.Bool
	var canceller sync.WaitGroup
	canceller.Go(func() {
		for turns := int(math.Pow(1.25, float64(moment%50))); turns > 0 && !over.Load(); turns-- {
			runtime.Gosched()
		}
		cancel()
	})
	f(ctx)
	over.Store(true)
	canceller.Wait()
}

// ledger notes the results of a store for each pet, by its name.
type ledger struct {
	mu           sync.Mutex
	acknowledged map[string]pets.Pet
	refused      map[string]bool
}

func (l *ledger) create(ctx context.Context, t tester, s pets.Store, name string) {
	pet, err := s.CreatePet(ctx, pets.NewPet{Name: name, Status: pets.Available})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acknowledged == nil {
		l.acknowledged, l.refused = map[string]pets.Pet{}, map[string]bool{}
	}
	switch {
	case err == nil:
		l.acknowledged[name] = pet
	case pets.KindOf(err) == pets.Unavailable:
		l.refused[name] = true
	case ctx.Err() == nil || pets.KindOf(err) != pets.Internal:
		// Internal says that the outcome is unknown, which a store across a network may
		// have to say of a caller who left.
		t.Errorf("creating %q: got error %v (%v), want a pet or unavailable", name, err, pets.KindOf(err))
	}
}

func (l *ledger) check(t tester, s pets.Store) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	there := map[string]pets.Pet{}
	for _, pet := range mustWalk(t, s, "", 100, nil) {
		if _, twice := there[pet.Name]; twice {
			t.Errorf("got %q twice, want once", pet.Name)
		}
		there[pet.Name] = pet
		if l.refused[pet.Name] {
			t.Errorf("got %q in the store, want it absent: its caller was told that nothing was done", pet.Name)
		}
	}
	for name, pet := range l.acknowledged {
		if there[name] != pet {
			t.Errorf("acknowledged pet %q: got %#v, want %#v", name, there[name], pet)
		}
	}
}

// finalReadsStayAsTheyWere follows the end of the list, where a page could still
// change. It asks nothing of a store whose reads are not final.
func finalReadsStayAsTheyWere(t *testing.T, open opener) {
	s := open(t)
	if !s.Final() {
		return
	}
	const writers, animals = 8, 40
	var ended atomic.Int32
	read := map[pets.Query]pets.Page{}
	each(1+writers, func(i int) {
		if i < writers {
			defer ended.Add(1)
			for range animals {
				mustCreate(t, s, pets.NewPet{Name: "Frank", Status: pets.Available})
			}
			return
		}
		q := pets.Query{Limit: 2}
		for {
			last := ended.Load() == writers
			page := mustList(t, s, q)
			switch {
			case page.More:
				read[q] = page
				q.After = page.Pets[0].ID
			case last:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	if want := writers*animals - 2; len(read) != want {
		t.Errorf("pages that others follow: got %d, want %d", len(read), want)
	}
	for q, before := range read {
		if now := mustList(t, s, q); !now.More || !slices.Equal(now.Pets, before.Pets) {
			t.Errorf("%+v: got %v, then %v, want the same", q, before, now)
		}
		mustFind(t, s, before.Pets[0])
	}
}
