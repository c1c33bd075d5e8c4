package storetest

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
)

// Each of these stores has a bug that no single client would notice.
func TestStoresThatAreNotLinearizableAreCaught(t *testing.T) {
	for name, spoil := range map[string]func(pets.Store) pets.Store{
		"acknowledges before it stores": func(s pets.Store) pets.Store { return &early{Store: s} },
		"lists what it remembers":       func(s pets.Store) pets.Store { return &stale{Store: s} },
		"lists all but the newest":      func(s pets.Store) pets.Store { return missing{s} },
		"forgets idempotency keys":      func(s pets.Store) pets.Store { return forgetful{s} },
		"loads one pet after the other": func(s pets.Store) pets.Store { return torn{s} },
	} {
		t.Run(name, func(t *testing.T) {
			const most = 100 // the first is mostly enough
			for i := range uint64(most) {
				h := newHistory(t, 1, i, []pets.Store{spoil(memory.New())})
				h.record(t)
				switch verdict := h.check(); verdict {
				case porcupine.Illegal:
					t.Logf("caught in history %d", i)
					return
				case porcupine.Unknown:
					t.Fatalf("history %d: got no verdict in time", i)
				}
			}
			t.Errorf("got %d histories that passed, want one that is caught", most)
		})
	}
}

// early stores a pet a moment after it has told its creator.
type early struct {
	pets.Store
	mu     sync.Mutex
	hidden []int64
}

func (s *early) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pet, err := s.Store.CreatePet(ctx, p)
	if err == nil {
		s.hidden = append(s.hidden, pet.ID)
		time.AfterFunc(50*time.Microsecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.hidden = s.hidden[1:]
		})
	}
	return pet, err
}

func (s *early) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hidden := range s.hidden {
		if id == hidden {
			return pets.Pet{}, pets.NoSuchPet(id)
		}
	}
	return s.Store.Pet(ctx, id)
}

// stale returns for a moment the page that it returned before.
type stale struct {
	pets.Store
	mu    sync.Mutex
	query pets.Query
	page  pets.Page
	until time.Time
}

func (s *stale) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q == s.query && time.Now().Before(s.until) {
		return s.page, nil
	}
	page, err := s.Store.Pets(ctx, q)
	s.query, s.page, s.until = q, page, time.Now().Add(time.Millisecond)
	return page, err
}

// missing leaves the last pet out of a list of several.
type missing struct{ pets.Store }

func (s missing) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	page, err := s.Store.Pets(ctx, q)
	if n := len(page.Pets); n > 1 && !page.More {
		page.Pets = page.Pets[:n-1]
	}
	return page, err
}

// forgetful takes every idempotent request for a new one.
type forgetful struct{ pets.Store }

func (s forgetful) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	p.Idempotency = pets.Idempotency{}
	return s.Store.CreatePet(ctx, p)
}

// torn shows a part of a load before the rest.
type torn struct{ pets.Store }

func (s torn) Load(ctx context.Context, animals iter.Seq2[pets.NewPet, error]) (n int, err error) {
	for p := range animals {
		if _, err := s.CreatePet(ctx, p); err != nil {
			return 0, err
		}
		n++
		runtime.Gosched()
	}
	return n, nil
}
