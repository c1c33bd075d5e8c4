package storetest

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/petstore/internal/pets"
)

// random has the store and a model of it do the same, and compares. The model
// is a list of pets, what idempotency keys have made, and a list of keys.
func random(t *testing.T, open func(*testing.T) pets.Store) {
	t.Run("The store does what its model does", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			m := &model{Store: open(t), requests: map[pets.Idempotency]pets.Pet{}}
			// Closed here, not by t's clean-up alone, which comes after all checks.
			defer mustClose(rt, m.Store)
			rt.Repeat(map[string]func(*rapid.T){
				"create a pet":               m.createPet,
				"load pets":                  m.load,
				"load pets with identifiers": m.loadWithIDs,
				"get a pet":                  m.getPet,
				"list":                       m.list,
				"walk":                       m.walk,
				"create a key":               m.createKey,
				"get a key":                  m.getKey,
				"revoke a key":               m.revokeKey,
				"list keys":                  m.listKeys,
			})
		})
	})
}

type model struct {
	pets.Store
	pets     []pets.Pet
	requests map[pets.Idempotency]pets.Pet
	keys     []pets.Key // in the order of storing
}

func (m *model) createPet(t *rapid.T) {
	p := pets.NewPet{
		Name: rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom([]string{"", " ", "a\x00b", "\xff", "\u2028", "\U0010ffff"}),
		).Draw(t, "name"),
		CategoryID: rapid.Int64().Draw(t, "category"),
		Status:     rapid.SampledFrom(append(pets.Statuses(), pets.Statuses()...)).Draw(t, "status"),
	}
	if rapid.Bool().Draw(t, "with an idempotency key") {
		m.drawIdempotency(t, &p)
	}
	if rapid.IntRange(0, 9).Draw(t, "spoil") == 9 {
		p.Status = "lost"
	}
	if p.Validate() != nil {
		_, err := m.CreatePet(t.Context(), p)
		wantKind(t, "an invalid pet", err, pets.Invalid)
		return
	}
	if made, again := m.requests[p.Idempotency]; again {
		m.createAgain(t, p, made)
		return
	}
	pet := mustCreate(t, m, p)
	if !p.Idempotency.IsZero() {
		m.requests[p.Idempotency] = pet
	}
	if n := len(m.pets); n > 0 && pet.ID <= m.pets[n-1].ID {
		t.Fatalf("got id %d after %d, want a greater one", pet.ID, m.pets[n-1].ID)
	}
	m.pets = append(m.pets, pet)
}

// drawIdempotency gives p an idempotency key, one of few, so that some are sent
// again: mostly with the pet they have made.
func (m *model) drawIdempotency(t *rapid.T, p *pets.NewPet) {
	p.Idempotency = pets.Idempotency{
		KeyID: rapid.SampledFrom([]string{"mine", "yours"}).Draw(t, "scope"),
		Key:   rapid.SampledFrom([]string{"k", "K", " k", "~", ""}).Draw(t, "idempotency key"),
	}
	if made, again := m.requests[p.Idempotency]; again && rapid.IntRange(0, 3).Draw(t, "another pet") < 3 {
		p.Name, p.CategoryID, p.Status = made.Name, made.CategoryID, made.Status
	}
}

// createAgain sends p with the idempotency key that has made a pet.
func (m *model) createAgain(t *rapid.T, p pets.NewPet, made pets.Pet) {
	if p.WithID(made.ID) != made {
		_, err := m.CreatePet(t.Context(), p)
		wantKind(t, "a used key with another pet", err, pets.Reused)
		return
	}
	if got := mustCreate(t, m, p); got != made {
		t.Fatalf("sent again: got %#v, want %#v", got, made)
	}
}

// drawPets draws a few pets of which the last is invalid now and then.
func drawPets(t *rapid.T) (animals []pets.NewPet, valid bool) {
	valid = true
	for i := range rapid.IntRange(0, 4).Draw(t, "pets") {
		p := pets.NewPet{Name: rapid.String().Draw(t, "name"), CategoryID: rapid.Int64().Draw(t, "category"), Status: statusOf(i)}
		animals = append(animals, p)
		valid = valid && p.Validate() == nil
	}
	if rapid.IntRange(0, 4).Draw(t, "spoil") == 4 {
		animals, valid = append(animals, pets.NewPet{Status: "lost"}), false
	}
	return animals, valid
}

func (m *model) load(t *rapid.T) {
	animals, valid := drawPets(t)
	if !valid {
		_, err := m.Load(t.Context(), sequence(animals))
		wantKind(t, "loading an invalid pet", err, pets.Invalid)
		return
	}
	m.pets = append(m.pets, mustLoad(t, m, animals)...)
}

func (m *model) loadWithIDs(t *rapid.T) {
	drawn, valid := drawPets(t)
	animals, last := make([]pets.Pet, len(drawn)), int64(0)
	for i, p := range drawn {
		last += rapid.Int64Range(1, 100).Draw(t, "gap")
		animals[i] = p.WithID(last)
	}
	if !valid || len(m.pets) > 0 {
		_, err := m.LoadWithIDs(t.Context(), sequence(animals))
		wantKind(t, "loading an invalid pet with its identifier, or over others", err, pets.Invalid)
		return
	}
	mustLoadWithIDs(t, m, animals)
	m.pets = animals
}

// drawID draws an identifier of a pet, or one near it or far from all.
func (m *model) drawID(t *rapid.T) int64 {
	near := []int64{0}
	for _, p := range m.pets {
		near = append(near, p.ID-1, p.ID, p.ID, p.ID+1)
	}
	return rapid.OneOf(
		rapid.SampledFrom(near),
		rapid.SampledFrom([]int64{math.MinInt64, -1, pets.MaxID, math.MaxInt64}),
	).Draw(t, "id")
}

func (m *model) getPet(t *rapid.T) {
	id := m.drawID(t)
	i := slices.IndexFunc(m.pets, func(p pets.Pet) bool { return p.ID == id })
	if i >= 0 {
		mustFind(t, m, m.pets[i])
		return
	}
	_, err := m.Pet(t.Context(), id)
	wantKind(t, "an absent pet", err, pets.NotFound)
}

func drawFilter(t *rapid.T) pets.Status {
	return rapid.SampledFrom(append(pets.Statuses(), "")).Draw(t, "filter")
}

func (m *model) list(t *rapid.T) {
	checkPage(t, m, m.pets, pets.Query{
		Status: drawFilter(t),
		After:  m.drawID(t),
		Limit:  rapid.OneOf(rapid.IntRange(1, len(m.pets)+2), rapid.IntRange(1, 100)).Draw(t, "limit"),
	})
}

func (m *model) walk(t *rapid.T) {
	status := drawFilter(t)
	got := mustWalk(t, m, status, rapid.IntRange(1, 12).Draw(t, "limit"), nil)
	if want := ofStatus(m.pets, status); !slices.Equal(got, want) {
		t.Fatalf("walking status %q: got ids %v, want %v", status, ids(got), ids(want))
	}
}

func (m *model) createKey(t *rapid.T) {
	k := pets.Key{
		ID:        rapid.StringMatching(`[0-9A-Za-z]{1,2}`).Draw(t, "key id"), // short, so that some meet
		Name:      rapid.StringN(1, 20, -1).Filter(func(s string) bool { return !slices.Contains([]rune(s), 0) }).Draw(t, "key name"),
		Hash:      pets.HashToken(rapid.String().Draw(t, "token")),
		CreatedAt: drawTime(t),
	}
	if rapid.Bool().Draw(t, "expires") {
		k.ExpiresAt = drawTime(t)
	}
	err := m.CreateKey(t.Context(), k)
	if _, taken := m.find(k.ID); taken {
		wantKind(t, "a second key with the same id", err, pets.Internal)
		return
	}
	if err != nil {
		t.Fatalf("storing key %v: got error %v", k, err)
	}
	m.keys = append(m.keys, k)
}

func drawTime(t *rapid.T) time.Time {
	return noon.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "seconds")) * time.Second)
}

func (m *model) drawKeyID(t *rapid.T) string {
	known := []string{"none"}
	for _, k := range m.keys {
		known = append(known, k.ID)
	}
	return rapid.SampledFrom(known).Draw(t, "key id")
}

func (m *model) find(id string) (int, bool) {
	i := slices.IndexFunc(m.keys, func(k pets.Key) bool { return k.ID == id })
	return i, i >= 0
}

func (m *model) getKey(t *rapid.T) {
	id := m.drawKeyID(t)
	if i, ok := m.find(id); ok {
		mustFindKey(t, m, m.keys[i])
		return
	}
	_, err := m.Key(t.Context(), id)
	wantKind(t, "an absent key", err, pets.NotFound)
}

func (m *model) revokeKey(t *rapid.T) {
	id, at := m.drawKeyID(t), drawTime(t)
	i, ok := m.find(id)
	if !ok {
		_, err := m.RevokeKey(t.Context(), id, at)
		wantKind(t, "revoking an absent key", err, pets.NotFound)
		return
	}
	if m.keys[i].RevokedAt.IsZero() {
		m.keys[i].RevokedAt = at
	}
	if got := mustRevoke(t, m, id, at); got != m.keys[i] {
		t.Fatalf("revoking key %q: got %v, want %v", id, got, m.keys[i])
	}
}

// listKeys does not look at the order of keys made in the same second, which
// the contract leaves open.
func (m *model) listKeys(t *rapid.T) {
	got := mustListKeys(t, m)
	for i := 1; i < len(got); i++ {
		if got[i].CreatedAt.Before(got[i-1].CreatedAt) {
			t.Fatalf("listing keys: got one made at %v after one made at %v, want the oldest first", got[i].CreatedAt, got[i-1].CreatedAt)
		}
	}
	if len(got) != len(m.keys) {
		t.Fatalf("listing keys: got %d, want %d", len(got), len(m.keys))
	}
	for _, k := range m.keys {
		if !slices.Contains(got, k) {
			t.Fatalf("listing keys: got %v, want %v among them", got, k)
		}
	}
}
