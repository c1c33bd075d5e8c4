package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/petstore/internal/pets"
)

func linearizability(t *testing.T, open func(*testing.T) pets.Store) {
	t.Run("What happens at once could have happened one after the other", func(t *testing.T) {
		Linearizable(t, open(t))
	})
}

// Linearizable has clients create, get and list at once on stores of the same pets,
// as of several replicas. It looks for an order of the calls in which each sees all
// that was acknowledged before it began. No other client may write meanwhile.
func Linearizable(t *testing.T, stores ...pets.Store) {
	t.Helper()
	const histories = 20
	seed := time.Now().UnixNano()
	for i := range histories {
		h := newHistory(t, uint64(seed), uint64(i), stores)
		h.record(t)
		if verdict := h.check(); verdict != porcupine.Ok {
			t.Fatalf("seed %d, history %d: got %v, want an order in which all of it could have happened one after the other:\n%s", seed, i, verdict, h)
		}
	}
}

// call is the request of a client: for one of a pet, pets, an identifier and a query.
type call struct {
	create *pets.NewPet
	load   []pets.NewPet // all of one name
	get    int64
	list   *pets.Query
}

// told is the result that a client gets.
type told struct {
	kind pets.Kind // where there is an error; it is a kind that says something of the pets
	err  error
	pets []pets.Pet
	more bool
}

// history is what a few clients were told at once, from an empty store on: the
// pets at or below base do not count.
type history struct {
	random *rand.Rand
	stores []pets.Store
	base   int64

	mu         sync.Mutex
	operations []porcupine.Operation
	clock      atomic.Int64
}

func newHistory(t *testing.T, seed, number uint64, stores []pets.Store) *history {
	h := &history{random: rand.New(rand.NewPCG(seed, number)), stores: stores}
	for _, p := range mustWalk(t, stores[0], "", 100, nil) {
		h.base = p.ID
	}
	return h
}

// record has six clients make eight calls each: enough to meet, and few enough
// to find an order in no time.
func (h *history) record(t *testing.T) {
	const clients, each = 6, 8
	var running sync.WaitGroup
	begin := make(chan struct{})
	for client := range clients {
		calls := make([]call, each)
		for i := range calls {
			calls[i] = h.draw(fmt.Sprintf("%d of client %d", i, client))
		}
		store, pauses := h.stores[client%len(h.stores)], h.random.Perm(each)
		running.Go(func() {
			<-begin
			for i, c := range calls {
				for range pauses[i] {
					runtime.Gosched()
				}
				start := h.clock.Add(1)
				result := c.send(t.Context(), store)
				h.add(porcupine.Operation{ClientId: client, Input: c, Call: start, Output: result, Return: h.clock.Add(1)})
				if result.err != nil && result.kind != pets.NotFound && result.kind != pets.Reused {
					t.Errorf("%v: got error %v, want a result", c, result.err)
				}
			}
		})
	}
	close(begin)
	running.Wait()
	h.identify(mustWalk(t, h.stores[0], "", 100, nil))
}

// identify completes what was told of loads, which is only how many pets there
// were: which they are, all the pets in the end tell by their names.
func (h *history) identify(all []pets.Pet) {
	for i, o := range h.operations {
		if c := o.Input.(call); c.load != nil {
			result := o.Output.(told)
			for _, p := range all {
				if p.ID > h.base && p.Name == c.load[0].Name {
					result.pets = append(result.pets, p)
				}
			}
			h.operations[i].Output = result
		}
	}
}

func (h *history) add(o porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
}

// draw draws a call. Two idempotency keys are sent again and again, mostly with
// one and the same pet.
func (h *history) draw(name string) call {
	near := h.base + h.random.Int64N(10)
	switch h.random.IntN(11) {
	case 0:
		p := pets.NewPet{Name: name + ", loaded", Status: statusOf(h.random.IntN(3))}
		return call{load: []pets.NewPet{p, p}}
	case 1, 2:
		return call{create: &pets.NewPet{Name: name, Status: statusOf(h.random.IntN(3))}}
	case 3, 4:
		key := fmt.Sprintf("%d-%d", h.base, h.random.IntN(2))
		p := pets.NewPet{Name: "of key " + key, Status: pets.Sold, Idempotency: pets.Idempotency{KeyID: "linearizable", Key: key}}
		if h.random.IntN(4) == 0 {
			p.Status = pets.Pending
		}
		return call{create: &p}
	case 5, 6, 7, 8:
		return call{list: &pets.Query{
			Status: append(pets.Statuses(), "", "", "")[h.random.IntN(6)],
			After:  max(h.base, near-7), // mostly all
			Limit:  []int{2, 100, 100}[h.random.IntN(3)],
		}}
	default:
		return call{get: near + 1}
	}
}

func (c call) send(ctx context.Context, s pets.Store) (result told) {
	var pet pets.Pet
	switch {
	case c.create != nil:
		pet, result.err = s.CreatePet(ctx, *c.create)
	case c.load != nil:
		_, result.err = s.Load(ctx, sequence(c.load))
	case c.list != nil:
		var page pets.Page
		page, result.err = s.Pets(ctx, *c.list)
		result.pets, result.more = page.Pets, page.More
	default:
		pet, result.err = s.Pet(ctx, c.get)
	}
	if result.err != nil {
		result.kind = pets.KindOf(result.err)
	} else if c.list == nil && c.load == nil {
		result.pets = []pets.Pet{pet}
	}
	return result
}

// check looks for the order.
func (h *history) check() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return contents(nil) },
		Step: func(state, input, output any) (bool, any) {
			return state.(contents).step(input.(call), output.(told))
		},
		Equal: func(a, b any) bool { return slices.Equal(a.(contents), b.(contents)) },
	}, h.operations, time.Minute)
}

// contents is the state of the model: the pets in the order of their
// identifiers, which is not always that of their creation, with the idempotency
// keys that made them.
type contents []entry

type entry struct {
	pets.Pet
	key pets.Idempotency
}

// step reports whether what was told is true of the contents, and returns those
// after it.
func (s contents) step(c call, result told) (bool, contents) {
	switch {
	case c.create != nil:
		return s.stepCreate(*c.create, result)
	case c.load != nil:
		return s.stepLoad(c.load, result)
	case c.list != nil:
		want := s.page(*c.list)
		return result.err == nil && result.more == want.More && slices.Equal(result.pets, want.Pets), s
	}
	i := slices.IndexFunc(s, func(e entry) bool { return e.ID == c.get })
	if i < 0 {
		return result.err != nil && result.kind == pets.NotFound, s
	}
	return result.err == nil && result.pets[0] == s[i].Pet, s
}

func (s contents) stepCreate(p pets.NewPet, result told) (bool, contents) {
	if !p.Idempotency.IsZero() {
		if i := slices.IndexFunc(s, func(e entry) bool { return e.key == p.Idempotency }); i >= 0 {
			if p.WithID(s[i].ID) != s[i].Pet {
				return result.err != nil && result.kind == pets.Reused, s
			}
			return result.err == nil && result.pets[0] == s[i].Pet, s
		}
	}
	if result.err != nil {
		return false, s
	}
	return s.with(p, result.pets[0])
}

func (s contents) stepLoad(animals []pets.NewPet, result told) (bool, contents) {
	if result.err != nil || len(result.pets) != len(animals) {
		return false, s
	}
	after, ok := s, true
	for i, p := range animals {
		if ok, after = after.with(p, result.pets[i]); !ok {
			return false, s
		}
	}
	return true, after
}

// with returns the contents once p is stored as pet, if that can be.
func (s contents) with(p pets.NewPet, pet pets.Pet) (bool, contents) {
	i, taken := slices.BinarySearchFunc(s, pet.ID, func(e entry, id int64) int { return int(e.ID - id) })
	if taken || pet != p.WithID(pet.ID) {
		return false, s
	}
	return true, slices.Insert(slices.Clone(s), i, entry{pet, p.Idempotency})
}

func (s contents) page(q pets.Query) (page pets.Page) {
	for _, e := range s {
		if e.ID <= q.After || q.Status != "" && e.Status != q.Status {
			continue
		}
		if page.More = len(page.Pets) == q.Limit; page.More {
			break
		}
		page.Pets = append(page.Pets, e.Pet)
	}
	return page
}

func (c call) String() string {
	switch {
	case c.create != nil:
		return fmt.Sprintf("create %+v", *c.create)
	case c.load != nil:
		return fmt.Sprintf("load %+v", c.load)
	case c.list != nil:
		return fmt.Sprintf("list %+v", *c.list)
	}
	return fmt.Sprintf("get %d", c.get)
}

// String has a line a call, in the order of their beginnings.
func (h *history) String() string {
	ordered := slices.Clone(h.operations)
	slices.SortFunc(ordered, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, o := range ordered {
		result := o.Output.(told)
		fmt.Fprintf(&b, "%3d to %3d, client %d: %v: %+v", o.Call, o.Return, o.ClientId, o.Input, result.pets)
		if result.more {
			b.WriteString(" and more")
		}
		if result.err != nil {
			fmt.Fprintf(&b, " %v", result.err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
