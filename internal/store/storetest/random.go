package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

// testRandom calls a store and a model of it in the same way and compares.
func testRandom(t *testing.T, f Factory) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			m := &model{
				TB: t, Factory: f, s: f.open(t), Rand: rand.New(rand.NewPCG(seed, 0)),
				made: map[pets.Idempotency]pets.Pet{}, keys: map[string]pets.Key{},
			}
			defer func() {
				if t.Failed() {
					t.Logf("after:\n%s", strings.Join(m.history[max(0, len(m.history)-30):], "\n"))
				}
			}()
			steps := []func(){
				m.create, m.create, m.create, m.load, m.loadWithIDs,
				m.get, m.get, m.list, m.list, m.walk,
				m.createKey, m.revokeKey, m.recordUse, m.checkKeys,
			}
			if f.Reopen != nil {
				steps = append(steps, m.reopen)
			}
			for range 250 {
				if steps[m.IntN(len(steps))](); t.Failed() {
					return
				}
			}
			wantAll(t, m.s, m.pets)
		})
	}
}

// model is what a store should hold.
type model struct {
	testing.TB
	Factory
	*rand.Rand
	s       pets.Store
	pets    []pets.Pet // ascending by identifier
	made    map[pets.Idempotency]pets.Pet
	keys    map[string]pets.Key
	history []string
}

func (m *model) did(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
}

func pick[V any](r *rand.Rand, from ...V) V { return from[r.IntN(len(from))] }

func (m *model) newPet() pets.NewPet {
	p := pets.NewPet{CategoryID: pick(m.Rand, append(categories, m.Int64())...), Status: statusOf(m.IntN(3))}
	for range m.IntN(3) {
		p.Name += pick(m.Rand, append(slices.Clip(names[:len(names)-2]), "Rex", string(rune(m.IntN(0xd7ff)+1)))...)
	}
	switch m.IntN(20) {
	case 0:
		p.Name += "\x00"
	case 1:
		p.Name = "\xff" + p.Name
	case 2:
		p.Status = pick[pets.Status](m.Rand, "", "lost", "SOLD")
	}
	return p
}

func (m *model) create() {
	p := m.newPet()
	if m.IntN(2) == 0 { // of few keys, so that they meet, and mostly with the same pet
		p.Idempotency = pets.Idempotency{KeyID: pick(m.Rand, "mine", "yours"), Key: pick(m.Rand, "k", "K", " k", "~", "")}
		if made, found := m.made[p.Idempotency]; found && m.IntN(4) > 0 {
			p.Name, p.CategoryID, p.Status = made.Name, made.CategoryID, made.Status
		}
	}
	m.did("CreatePet(%.200v)", p)
	made, repeated := m.made[p.Idempotency]
	switch {
	case p.Validate() != nil:
		_, err := m.s.CreatePet(m.Context(), p)
		wantKind(m, "CreatePet", err, pets.Invalid)
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

// someNewPets returns a few pets and whether all are valid.
func (m *model) someNewPets() (some []pets.NewPet, valid bool) {
	valid = true
	for range m.IntN(5) {
		p := m.newPet()
		some, valid = append(some, p), valid && p.Validate() == nil
	}
	return some, valid
}

func (m *model) load() {
	some, valid := m.someNewPets()
	m.did("Load(%.200v)", some)
	if valid {
		m.pets = append(m.pets, mustLoad(m, m.s, some)...)
		return
	}
	_, err := m.s.Load(m.Context(), sequence(some, nil))
	wantKind(m, "Load", err, pets.Invalid)
}

func (m *model) loadWithIDs() {
	some, valid := m.someNewPets()
	all, id := make([]pets.Pet, len(some)), int64(0)
	for i, p := range some {
		id += m.Int64N(5) // 0 makes it invalid
		valid = valid && id > 0 && (i == 0 || id > all[i-1].ID)
		all[i] = p.WithID(id)
	}
	m.did("LoadWithIDs(%.200v)", all)
	_, err := m.s.LoadWithIDs(m.Context(), sequence(all, nil))
	switch {
	case !valid:
		wantKind(m, "LoadWithIDs", err, pets.Invalid)
	case len(m.pets) > 0:
		wantError(m, "LoadWithIDs", err, pets.ErrNotEmpty)
	case err != nil:
		m.Errorf("LoadWithIDs: got error %v", err)
	default:
		m.pets = all
	}
}

// anyID returns the identifier of a pet, or one beside it or far from all.
func (m *model) anyID() int64 {
	if len(m.pets) > 0 && m.IntN(5) > 0 {
		return m.pets[m.IntN(len(m.pets))].ID + pick[int64](m.Rand, -1, 0, 0, 1)
	}
	return pick[int64](m.Rand, 0, -1, pets.MaxID, math.MinInt64, math.MaxInt64)
}

func (m *model) get() {
	id := m.anyID()
	m.did("Pet(%d)", id)
	if i, found := m.find(id); found {
		wantPet(m, m.s, m.pets[i])
		return
	}
	_, err := m.s.Pet(m.Context(), id)
	wantKind(m, "Pet", err, pets.NotFound)
}

func (m *model) list() {
	q := pets.Query{Status: pick(m.Rand, filters...), After: m.anyID(), Limit: 1 + m.IntN(len(m.pets)+2)}
	m.did("Pets(%+v)", q)
	wantPage(m, m.s, m.pets, q)
}

func (m *model) walk() {
	status, limit := pick(m.Rand, filters...), 1+m.IntN(50)
	m.did("walk of status %q by %d", status, limit)
	if got, want := mustWalk(m, m.s, status, limit), ofStatus(m.pets, status); !slices.Equal(got, want) {
		m.Errorf("walk of status %q by %d: got ids %v, want %v", status, limit, ids(got), ids(want))
	}
}

func (m *model) anyKeyID() string { return fmt.Sprintf("abcdefg%d", m.IntN(8)) }

func (m *model) anyTime() time.Time { return noon.Add(time.Duration(m.IntN(20)-10) * time.Second) }

func (m *model) createKey() {
	k := newKey(m.anyKeyID(), m.anyTime())
	k.ReadOnly = m.IntN(2) == 0
	if m.IntN(2) == 0 {
		k.ExpiresAt = m.anyTime()
	}
	m.did("CreateKey(%+v)", k)
	err := m.s.CreateKey(m.Context(), k)
	if _, taken := m.keys[k.ID]; taken {
		wantKind(m, "CreateKey", err, pets.Internal)
		return
	}
	if err != nil {
		m.Errorf("CreateKey: got error %v", err)
	}
	m.keys[k.ID] = k
}

func (m *model) revokeKey() {
	id, at := m.anyKeyID(), m.anyTime()
	m.did("RevokeKey(%q, %v)", id, at)
	k, found := m.keys[id]
	if !found {
		_, err := m.s.RevokeKey(m.Context(), id, at)
		wantKind(m, "RevokeKey", err, pets.NotFound)
		return
	}
	if k.RevokedAt.IsZero() {
		k.RevokedAt = at
		m.keys[id] = k
	}
	if got := mustRevoke(m, m.s, id, at); got != k {
		m.Errorf("RevokeKey: got %+v, want %+v", got, k)
	}
}

func (m *model) recordUse() {
	used := map[string]time.Time{m.anyKeyID(): m.anyTime(), m.anyKeyID(): m.anyTime()}
	m.did("RecordKeyUse(%v)", used)
	mustRecordUse(m, m.s, used)
	for id, at := range used {
		if k, found := m.keys[id]; found && at.After(k.UsedAt) {
			k.UsedAt = at
			m.keys[id] = k
		}
	}
}

// checkKeys compares all keys. The order of keys of the same second is open.
func (m *model) checkKeys() {
	m.did("Keys()")
	got, err := m.s.Keys(m.Context())
	if err != nil || len(got) != len(m.keys) {
		m.Errorf("Keys: got %d, error %v, want %d", len(got), err, len(m.keys))
	}
	if !slices.IsSortedFunc(got, func(a, b pets.Key) int { return a.CreatedAt.Compare(b.CreatedAt) }) {
		m.Errorf("Keys: got %+v, want the oldest first", got)
	}
	for _, k := range got {
		if k != m.keys[k.ID] {
			m.Errorf("Keys: got %+v, want %+v", k, m.keys[k.ID])
		}
	}
	id := m.anyKeyID()
	if k, found := m.keys[id]; found {
		wantKey(m, m.s, k)
		return
	}
	_, err = m.s.Key(m.Context(), id)
	wantKind(m, "Key", err, pets.NotFound)
}

func (m *model) reopen() {
	m.did("Reopen()")
	m.s = m.Factory.reopen(m, m.s)
}
