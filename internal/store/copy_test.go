package store_test

import (
	"context"
	"errors"
	"testing"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

// source is a store with pets, whose parts cannot be read if they have an error.
type source struct {
	store.Reader
	pets                                         []pets.Pet
	begin, petError, requestError, keyError, end error
}

func (s source) Snapshot(_ context.Context, f func(store.Snapshot) error) error {
	if s.begin != nil {
		return s.begin
	}
	err := f(store.Snapshot{
		LastID:   10,
		Pets:     storetest.Sequence(s.petError, s.pets...),
		Requests: storetest.Sequence[pets.KeyedRequest](s.requestError),
		Keys:     storetest.Sequence(s.keyError, keys.Key{ID: "abcdefgh"}),
	})
	return errors.Join(err, s.end)
}

// unfilled is a store that cannot be filled.
type unfilled struct {
	store.Store
	err error
}

func (u unfilled) Fill(context.Context, store.Snapshot) error { return u.err }

func TestCopy(t *testing.T) {
	const unread, invalid = "reading failed: broken", "its identifier is out of order or out of range"
	pet := func(id int64) pets.Pet { return pets.Pet{ID: id, NewPet: example.Pet()} }
	nameless := pet(2)
	nameless.Name = "\x00"
	broken, ended := errors.New("broken"), &pets.Error{Kind: pets.Unavailable, Message: "canceled"}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		from source
		to   store.Store
		want string
		kind pets.Kind
	}{
		{from: source{pets: []pets.Pet{pet(1), pet(10)}}},
		{from: source{end: broken}}, // once all is copied
		{from: source{begin: broken}, want: unread, kind: pets.Unavailable},
		{from: source{petError: broken}, want: unread, kind: pets.Unavailable},
		{from: source{requestError: broken}, want: unread, kind: pets.Unavailable},
		{from: source{keyError: broken}, want: unread, kind: pets.Unavailable},
		{ctx: canceled, want: "reading failed: context canceled", kind: pets.Unavailable},
		{from: source{pets: []pets.Pet{nameless}}, want: "reading failed: pet 2: name must not contain U+0000", kind: pets.Unavailable},
		{from: source{pets: []pets.Pet{pet(0)}}, want: "reading failed: pet 0: " + invalid, kind: pets.Unavailable},
		{from: source{pets: []pets.Pet{pet(2), pet(2)}}, want: "reading failed: pet 2: " + invalid, kind: pets.Unavailable},
		{from: source{pets: []pets.Pet{pet(11)}}, want: "reading failed: pet 11: " + invalid, kind: pets.Unavailable},
		{to: unfilled{err: broken}, want: "broken", kind: pets.Internal},
		{to: unfilled{err: ended}, want: "canceled", kind: pets.Unavailable},
		{to: unfilled{err: store.ErrNotEmpty}, want: store.ErrNotEmpty.Error(), kind: pets.Invalid},
	} {
		if c.ctx == nil {
			c.ctx = t.Context()
		}
		if c.to == nil {
			c.to = memory.New()
		}
		var n store.Counts
		err := store.Copy(c.ctx, c.from, c.to, &n)
		if c.want == "" && (err != nil || n.Pets.Load() != int64(len(c.from.pets)) || n.Requests.Load() != 0 || n.Keys.Load() != 1) {
			t.Errorf("Copy: got error %v, want %d pets and a key, got %d and %d", err, len(c.from.pets), n.Pets.Load(), n.Keys.Load())
		}
		if c.want != "" && (err == nil || err.Error() != c.want || pets.KindOf(err) != c.kind) {
			t.Errorf("Copy: got error %v (%v), want %s (%v)", err, pets.KindOf(err), c.want, c.kind)
		}
	}
}
