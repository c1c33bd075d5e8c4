package pets

import (
	"context"
	"iter"
)

// Store keeps pets. Package storetest tests every implementation.
//
// All methods are safe for concurrent use. They return soon after their context
// ends, or once the outcome of a write in progress is known. Any of them may fail
// with Unavailable, in which case nothing was done, or with Internal; the comments
// below mention only other kinds.
type Store interface {
	// CreatePet stores p durably and returns it with its identifier.
	// Identifiers start at 1, are never reused and may have gaps. If ctx ends
	// before the pet is stored, either nothing was done (Unavailable) or the
	// outcome is unknown (Internal).
	//
	// All calls with the same p.Idempotency, concurrent or not, in this
	// process or another, create one pet and return it as it is stored now.
	//
	// It fails with Invalid if p.Validate does, and with Reused if the
	// idempotency key was first used with other values; see CheckRepeat.
	CreatePet(ctx context.Context, p NewPet) (Pet, error)

	// Pet returns the pet with the identifier id, or NotFound.
	Pet(ctx context.Context, id int64) (Pet, error)

	// Pets returns the first q.Limit pets that q selects, in ascending order
	// of their identifiers. A walk that passes the last identifier of each
	// page as the next q.After returns every pet acknowledged before the walk
	// began exactly once.
	Pets(ctx context.Context, q Query) (Page, error)

	// Load stores all of pets in one transaction and in their order, and
	// returns their number: either all are stored durably or none. It stops
	// at the first error that pets yields and returns it unchanged. It fails
	// with Invalid if a pet's Validate does. Internal means that either all
	// or none are stored. pets must not use the store.
	Load(ctx context.Context, pets iter.Seq2[NewPet, error]) (int, error)

	// LoadWithIDs is like Load for pets that keep their identifiers. It fails
	// with ErrNotEmpty if the store holds pets, and with Invalid unless the
	// identifiers ascend and lie between 1 and MaxID. Pets created later have
	// greater identifiers.
	LoadWithIDs(ctx context.Context, pets iter.Seq2[Pet, error]) (int, error)

	// Ping reports whether the store can serve requests; /readyz calls it. It
	// fails if the store is unreachable or if its file was replaced or is
	// corrupt. A full disk is not a failure, because reads still work.
	Ping(ctx context.Context) error

	// Failed returns a channel that delivers one error if the store can no
	// longer vouch for the writes it acknowledges, for example after a failed
	// fsync. The program must then exit. The channel is nil for stores that
	// cannot fail this way.
	Failed() <-chan error

	// Close completes the writes in progress, rejects new ones and releases
	// all resources. Calls after the first do nothing.
	Close() error
}
