package pets

import (
	"context"
	"iter"
	"time"
)

// Store keeps pets and keys. Every implementation passes the tests of
// internal/pets/store/storetest. All methods are safe for concurrent use and end
// soon after their context does.
//
// Errors carry a Kind. Any method may fail with Unavailable (nothing was
// done, trying again is safe) or Internal; the comments name only the others.
type Store interface {
	PetStore
	KeyStore

	// Ping reports whether the store can be used now, as /readyz asks: it is
	// Unavailable where requests fail. It reads what the operations read, pets and
	// keys, at the cost of a small request. Where the store takes writes, it asks for
	// the right to add pets, without waiting for other writers. A full disk is no
	// fault, as reads go on. A fault of the store's own file is a *FileFault.
	Ping(ctx context.Context) error

	// Failed delivers one error if the store can no longer vouch for the writes
	// that it acknowledges, such as a failed fsync, which cannot be tried again.
	// The program must then end; all earlier acknowledged writes are on disk. The
	// channel is nil for a store that cannot fail so.
	Failed() <-chan error

	// Close finishes the writes under way, refuses new ones with Unavailable
	// and releases files and connections. Only the first call does anything.
	Close() error
}

// PetStore keeps pets. There is no way to change or remove one.
type PetStore interface {
	// CreatePet stores p durably and returns it with its new identifier: from
	// 1 upward, never reused, gaps allowed, at most MaxID. When it returns
	// without an error the pet survives the death of the process and of the
	// machine, as far as the store promises durability at all. If ctx ends
	// first, either nothing was done (Unavailable) or the pet is returned. A
	// store across a network may not know which: then it fails with Internal.
	//
	// Calls with the same p.Idempotency make one pet, however many there are,
	// at once or one after the other, in this process or another: all of them
	// return it. So a call whose outcome is unknown can be made again. The key
	// is remembered as long as the pet.
	//
	// It fails with Invalid where p.Validate does, and with Reused where the
	// key has made a pet of another name, category or status.
	CreatePet(ctx context.Context, p NewPet) (Pet, error)

	// Pet returns the pet with that identifier, or NotFound.
	Pet(ctx context.Context, id int64) (Pet, error)

	// Pets returns the first q.Limit pets of q in ascending order of their
	// identifiers. A walk that passes each page's last identifier as the next
	// q.After meets every pet created before it began exactly once. The cost
	// does not depend on how many pets there are.
	Pets(ctx context.Context, q Query) (Page, error)

	// Final reports whether reads are final: a pet, and a page that more pets
	// follow, stay as they were read for good. Callers may then keep them.
	Final() bool

	// Load stores all of pets, durably and in their order, and returns how many
	// they are. It is one write: others see none of them or all, and where it
	// fails, or its process is killed, none is stored. Their identifiers ascend.
	// Other writes may have to wait for its end, and may be Unavailable
	// meanwhile.
	//
	// It ends with the first error that pets yields, and returns that as it is.
	// pets must not use the store. A pet of Load has no idempotency key. If ctx
	// ends first, nothing was stored (Unavailable); a commit that is under way
	// is not interrupted. Internal means that all of them may be stored or none:
	// look before trying again, for that would store them twice.
	//
	// It fails with Invalid where a pet's Validate does.
	Load(ctx context.Context, pets iter.Seq2[NewPet, error]) (int, error)

	// LoadWithIDs is Load for pets that keep their identifiers, in a store that has
	// none: pets created later have greater ones. It fails with Invalid where
	// the store holds pets, and where the identifiers do not ascend from 1 or
	// more up to MaxID.
	LoadWithIDs(ctx context.Context, pets iter.Seq2[Pet, error]) (int, error)
}

// Query selects pets.
type Query struct {
	Status Status // only pets of this status; "" selects all
	After  int64  // only pets with a greater identifier
	Limit  int    // at most so many; 1 or more
}

// Page is a part of a list of pets.
type Page struct {
	Pets []Pet // never more than the query's limit; read-only, the store may keep it
	More bool  // whether at least one pet follows the last of Pets
}

// KeyStore keeps API keys, of which it knows only hashes.
type KeyStore interface {
	// CreateKey stores k. Its ID must be new.
	CreateKey(ctx context.Context, k Key) error

	// Key returns the key with that ID, revoked and expired ones too, or NotFound.
	Key(ctx context.Context, id string) (Key, error)

	// Keys returns all keys, oldest first.
	Keys(ctx context.Context) ([]Key, error)

	// RevokeKey marks the key as revoked at that time and returns it, or
	// NotFound. A key that is revoked already keeps its first time.
	RevokeKey(ctx context.Context, id string, at time.Time) (Key, error)

	// RotateKey stores successor, whose ID must be new, and has the key with the
	// given ID expire at end, or earlier where it would expire earlier anyway. Both
	// happen or neither. It returns the old key, or NotFound where none with that ID
	// works when successor is created.
	RotateKey(ctx context.Context, id string, successor Key, end time.Time) (Key, error)

	// RecordKeyUse stores the time when each key, named by its ID, was last used, to
	// the second, where Key.UsedLater says so. It ignores keys that do not exist. A
	// call that fails may have stored any part; repeating it is harmless.
	RecordKeyUse(ctx context.Context, used map[string]time.Time) error
}
