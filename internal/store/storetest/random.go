package storetest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// testRandom makes the same random calls to a store and a model and compares the
// results.
func testRandom(t *testing.T, f Factory) {
	m := &model{
		TB: t, Factory: f, s: f.open(t), Rand: rand.New(rand.NewPCG(0, 0)),
		made: map[pets.Idempotency]pets.Pet{},
	}
	steps := []func(){m.create, m.create, m.create, m.load, m.get, m.get, m.list, m.list}
	if f.Reopen != nil {
		steps = append(steps, m.reopen)
	}
	for range 200 {
		if steps[m.IntN(len(steps))](); t.Failed() {
			return
		}
	}
	wantAll(t, m.s, m.pets)
}

// model is what a store should hold.
type model struct {
	testing.TB
	Factory
	*rand.Rand
	s    store.Store
	pets []pets.Pet // ascending by identifier
	made map[pets.Idempotency]pets.Pet
}

func pick[V any](r *rand.Rand, from ...V) V { return from[r.IntN(len(from))] }

func (m *model) newPet() pets.NewPet {
	p := named("", statusOf(m.IntN(3)))
	p.CategoryID = pick(m.Rand, append(categories, m.Int64())...)
	for range m.IntN(3) {
		p.Name += pick(m.Rand, append(slices.Clip(names[:len(names)-2]), "Rex", string(rune(m.IntN(0xd7ff)+1)))...)
	}
	return p
}

func (m *model) create() {
	p := m.newPet()
	if m.IntN(2) == 0 { // few keys, so that they collide, and mostly with the same pet
		p.Idempotency = pets.Idempotency{KeyID: pick(m.Rand, "mine", "yours"), Key: pick(m.Rand, "k", "K", " k", "~")}
		if made, found := m.made[p.Idempotency]; found && m.IntN(4) > 0 {
			p.Name, p.CategoryID, p.Status = made.Name, made.CategoryID, made.Status
		}
	}
	m.Logf("CreatePet(%.200v)", p)
	made, repeated := m.made[p.Idempotency]
	switch {
	case repeated && p.WithID(made.ID) != made:
		_, err := m.s.CreatePet(m.Context(), p)
		wantKind(m, "CreatePet", err, pets.Reused)
	case repeated:
		if got := mustCreate(m, m.s, p); got != made {
			m.Errorf("CreatePet again: got %v, want %v", got, made)
		}
	default:
		pet := mustCreate(m, m.s, p)
		i, found := m.find(pet.ID)
		if found {
			m.Errorf("CreatePet: got id %d again", pet.ID)
		}
		m.pets = slices.Insert(m.pets, i, pet)
		if !p.Idempotency.IsZero() {
			m.made[p.Idempotency] = pet
		}
	}
}

func (m *model) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(m.pets, id, func(p pets.Pet, id int64) int { return cmp.Compare(p.ID, id) })
}

func (m *model) load() {
	var some []pets.NewPet
	for range m.IntN(5) {
		some = append(some, m.newPet())
	}
	m.Logf("Load(%.200v)", some)
	m.pets = append(m.pets, mustLoad(m, m.s, some)...)
}

// anyID returns the identifier of a pet, one next to it, or one far from all.
func (m *model) anyID() int64 {
	if len(m.pets) > 0 && m.IntN(5) > 0 {
		return m.pets[m.IntN(len(m.pets))].ID + pick[int64](m.Rand, -1, 0, 0, 1)
	}
	return pick[int64](m.Rand, 0, -1, pets.MaxID, math.MinInt64, math.MaxInt64)
}

func (m *model) get() {
	id := m.anyID()
	m.Logf("Pet(%d)", id)
	if i, found := m.find(id); found {
		wantPet(m, m.s, m.pets[i])
		return
	}
	_, err := m.s.Pet(m.Context(), id)
	wantKind(m, "Pet", err, pets.NotFound)
}

func (m *model) list() {
	q := pets.Query{Status: pick(m.Rand, filters...), After: m.anyID(), Limit: 1 + m.IntN(len(m.pets)+2)}
	m.Logf("Pets(%+v)", q)
	wantPage(m, m.s, m.pets, q)
}

func (m *model) reopen() {
	m.Log("Reopen")
	m.s = m.Factory.reopen(m, m.s)
}
