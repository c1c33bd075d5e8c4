package pets

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/engine/fault"
)

// Store keeps pets. Package storetest tests every implementation.
//
// All methods are safe for concurrent use. They return soon after their context
// ends, or once the outcome of a write in progress is known. Their errors have the kinds
// of package fault. Any of them may fail with Unavailable, in which case nothing was done,
// or with Internal; the comments below mention only other kinds.
type Store interface {
	// CreatePet stores p durably and returns it with its identifier. Identifiers start at 1, are
	// never reused and may have gaps. If ctx ends before the pet is stored, either nothing was done
	// (Unavailable) or the outcome is unknown (Internal).
	//
	// All calls with the same idempotency key, concurrent or not, in this
	// process or another, create one pet and return it as it is stored now, or
	// fail with ErrRemoved if an operator has removed it. The zero key means none.
	//
	// The values of p and key must be as the OpenAPI document allows. It fails with
	// IdempotencyKeyReused if the key was first used with other values; see CheckRepeat.
	CreatePet(ctx context.Context, p NewPet, key IdempotencyKey) (Pet, error)

	// Pet returns the pet with the identifier id, or NotFound.
	Pet(ctx context.Context, id int64) (Pet, error)

	// Pets returns the page of pets that q selects, in ascending order of their identifiers; see
	// ListPage.Add for where it ends. To iterate, pass the last identifier of each page as the next
	// q.After: every pet acknowledged before the start is returned exactly once. A pet may appear
	// up to 10 s after one with a greater identifier. To poll for new pets, start from the greatest
	// identifier known 10 s before the last poll, and drop known pets.
	Pets(ctx context.Context, q ListQuery) (ListPage, error)

	// ForgetIdempotencyKeys forgets some of the idempotency keys that were first
	// used longer than age ago, by the clock that stamped them, and returns how
	// many: 0 if none are left. It does not block other calls.
	ForgetIdempotencyKeys(ctx context.Context, age time.Duration) (int, error)

	// Ping reports whether the store can serve requests; /readyz calls it. It
	// fails if the store is unreachable or if its file was replaced. A full disk
	// or a damaged page is not a failure, because reads still work.
	Ping(ctx context.Context) error

	// Failed returns a channel that delivers one error if the store can no longer guarantee
	// acknowledged writes, for example after a failed fsync. The program must then exit. The
	// channel is nil for stores that cannot fail this way.
	Failed() <-chan error

	// Close completes the writes in progress, rejects new ones and releases
	// all resources. Calls after the first do nothing.
	Close() error
}

// NoSuchPet returns the NotFound error for a pet.
func NoSuchPet(id int64) error {
	return fault.New(fault.NotFound, fmt.Sprintf("there is no pet with id %d", id))
}

// ErrRemoved means that the pet of an idempotency key is gone.
var ErrRemoved = fault.New(fault.IdempotencyKeyReused,
	"the pet of this Idempotency-Key was removed; send a new key for a new pet")
