package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"example.com/petstore/internal/pets"
)

// Counts says how much Copy has copied so far.
type Counts struct{ Pets, Requests, Keys atomic.Int64 }

// Copy fills a store, which must be empty, with the content of another, and counts what
// it copies in n. Its error is Internal only if either all or nothing was copied, and of
// another kind if nothing was.
func Copy(ctx context.Context, from Reader, to Store, n *Counts) error {
	var unread, unfilled error
	begun := false
	err := from.Snapshot(ctx, func(s Snapshot) error {
		begun = true
		unfilled = to.Fill(ctx, Snapshot{
			LastID:   s.LastID,
			Pets:     pass(ctx, s.validPets(), &n.Pets, &unread),
			Requests: pass(ctx, s.Requests, &n.Requests, &unread),
			Keys:     pass(ctx, s.Keys, &n.Keys, &unread),
		})
		return unfilled
	})
	if begun && unread == nil {
		return unfilled // whatever the end of the snapshot says
	}
	if unread != nil {
		err = unread
	}
	return &pets.Error{Kind: pets.Unavailable, Message: "reading failed", Err: err}
}

var errUnread = errors.New("the snapshot could not be read")

// pass yields all until ctx ends, and counts it in n. It stores the first error in unread,
// and yields another: the store that is filled must not take it for an error of its own.
func pass[T any](ctx context.Context, all iter.Seq2[T, error], n *atomic.Int64, unread *error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				*unread = err
				yield(v, errUnread)
				return
			}
			n.Add(1)
			if !yield(v, nil) {
				return
			}
		}
	}
}

// validPets yields s.Pets up to the first that CreatePet would not store.
func (s Snapshot) validPets() iter.Seq2[pets.Pet, error] {
	return func(yield func(pets.Pet, error) bool) {
		last := int64(0)
		for p, err := range s.Pets {
			if err == nil {
				err = checkPet(p, last, s.LastID)
			}
			if !yield(p, err) || err != nil {
				return
			}
			last = p.ID
		}
	}
}

// checkPet checks a pet that follows one with the identifier after.
func checkPet(p pets.Pet, after, last int64) error {
	err := p.Validate()
	if p.ID <= after || p.ID > min(last, pets.MaxID) {
		err = errors.New("its identifier is out of order or out of range")
	}
	if err != nil {
		return fmt.Errorf("pet %d: %w", p.ID, err)
	}
	return nil
}
