package postgres

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sethvargo/go-retry"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/postgres/primary"
)

// commitTimeout bounds the commit of an import, which may have to wait until a
// standby has all of it, and then the question whether it was stored.
const commitTimeout = time.Minute

// rollbackTimeout bounds the rollback of an import that fails.
const rollbackTimeout = time.Second

// lockPets keeps other writers away, but no readers.
const lockPets = "LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE"

// setLastID moves the sequence behind the last identifier. It never moves back,
// also when the transaction rolls back: then identifiers are left out.
const setLastID = "SELECT setval('pets_id_seq', greatest($1, last_value)) FROM pets_id_seq"

// Load implements pets.PetStore.
func (s *Store) Load(ctx context.Context, animals iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Loading(animals), false)
}

// LoadWithIDs implements pets.PetStore. The table must be empty. The sequence
// says nothing about that, because it also counts writes that were rolled back.
func (s *Store) LoadWithIDs(ctx context.Context, animals iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.LoadingWithIDs(animals), true)
}

// load copies pets in one transaction, on a connection of its own: the pools have
// few, and abandon them where the server is too slow for requests. It does not
// retry. It only asks whether the transaction was committed until the server tells,
// by an idempotency key of the first pet.
func (s *Store) load(ctx context.Context, animals iter.Seq2[pets.Pet, error], ownIDs bool) (int, error) {
	l := &loader{ownIDs: ownIDs, first: s.newIdempotency()}
	err := s.db.Dedicated(ctx, func(c *pgx.Conn) error { return l.run(ctx, c, animals) })
	switch {
	case l.refusal != nil:
		return 0, l.refusal
	case err == nil:
		return l.n, nil
	case l.committing:
		if err := s.askWhetherStored(ctx, l.first, err); err != nil {
			return 0, err
		}
		return l.n, nil
	case ctx.Err() != nil:
		return 0, pets.ErrGaveUp
	case primary.OutcomeOf(err) == primary.MaybeExecuted: // the connection broke before the commit
		return 0, unavailable("the database is unavailable", err)
	}
	return 0, translate(err)
}

// loader is an import that runs.
type loader struct {
	ownIDs bool             // whether the pets keep their identifiers
	first  pets.Idempotency // of the first pet

	n          int
	pet        pets.Pet
	refusal    error // from the source of the pets, or about a pet
	committing bool  // whether the commit may have been sent
	next       func() (pets.Pet, error, bool)
	ctx        context.Context
}

func (l *loader) run(ctx context.Context, c *pgx.Conn, animals iter.Seq2[pets.Pet, error]) error {
	var stop func()
	l.next, stop = iter.Pull2(animals)
	defer stop()
	l.ctx = ctx
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	if err := l.copy(tx); err != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		return errors.Join(err, tx.Rollback(ending))
	}
	// From here on the end of ctx does not end the commit.
	l.committing = true
	committing, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return primary.FailOnWarning(c, func() error { return tx.Commit(committing) })
}

func (l *loader) copy(tx pgx.Tx) error {
	if l.ownIDs {
		empty, err := isEmpty(l.ctx, tx)
		if err != nil {
			return err
		}
		if !empty {
			l.refusal = pets.ErrNotEmpty
			return l.refusal
		}
	}
	columns := inserted
	if l.ownIDs {
		columns = slices.Concat(inserted, []string{idColumn})
	}
	if _, err := tx.CopyFrom(l.ctx, pgx.Identifier{"pets"}, columns, pgx.CopyFromFunc(l.row)); err != nil {
		return err
	}
	if l.ownIDs && l.n > 0 {
		_, err := tx.Exec(l.ctx, setLastID, l.pet.ID)
		return err
	}
	return nil
}

// isEmpty reports whether there is no pet, nor will be before the transaction
// ends.
func isEmpty(ctx context.Context, tx pgx.Tx) (empty bool, err error) {
	if _, err := tx.Exec(ctx, lockPets); err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, "SELECT NOT EXISTS (SELECT 1 FROM pets)").Scan(&empty)
	return empty, err
}

// row returns the values of the next pet, or nil behind the last.
func (l *loader) row() ([]any, error) {
	p, err, more := l.next()
	switch {
	case !more:
		return nil, nil
	case err != nil:
		l.refusal = err
		return nil, err
	case l.ctx.Err() != nil:
		return nil, l.ctx.Err()
	}
	l.pet = p
	l.n++
	values := fields(&l.pet)
	if l.n == 1 {
		values = append(values, l.first.KeyID, l.first.Key)
	} else {
		values = append(values, nil, nil)
	}
	if l.ownIDs {
		values = append(values, l.pet.ID)
	}
	return values, nil
}

// askWhetherStored finds out whether a commit without a response was executed.
// It asks for commitTimeout at most.
func (s *Store) askWhetherStored(ctx context.Context, first pets.Idempotency, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	var stored bool
	var last error
	err := retry.Do(ctx, primary.Backoff(), func(ctx context.Context) error {
		last = s.db.Dedicated(ctx, func(c *pgx.Conn) error {
			return primary.FailOnWarning(c, func() (err error) {
				stored, err = isStored(ctx, c, first)
				return err
			})
		})
		return retry.RetryableError(last)
	})
	switch {
	case err != nil:
		return translate(&primary.Error{Outcome: primary.MaybeExecuted, Err: errors.Join(cause, last)})
	case !stored:
		return unavailable("the database has not stored the pets", cause)
	}
	return nil
}

// isStored inserts the first pet's idempotency key again. That waits for the end of
// a transaction that has inserted it, and succeeds only where no such transaction has
// committed or ever will.
func isStored(ctx context.Context, c *pgx.Conn, first pets.Idempotency) (bool, error) {
	tx, err := c.Begin(ctx)
	if err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, insertPet, insertArgs(pets.NewPet{Idempotency: first}.WithDefaults())...)
	if err == nil && tag.RowsAffected() == 1 {
		return false, tx.Rollback(ctx)
	}
	if err == nil { // it is there; this commit waits until a standby has it, as with selectPetMade
		_, err = tx.Exec(ctx, "SELECT pg_logical_emit_message(true, 'petstore', '')")
	}
	if err != nil {
		return false, err // the transaction ends with the connection
	}
	return true, tx.Commit(ctx)
}
