package postgres

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/petstore"
)

// commitTimeout bounds the commit of a load, which may have to wait until a
// standby has all of it, and then the asking what became of it.
const commitTimeout = time.Minute

// lockPets keeps other writers away, but no readers.
const lockPets = "LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE"

// setLastID has the sequence go on behind the last identifier. It never goes
// back, and neither does it when the transaction is rolled back: then numbers
// are left out.
const setLastID = "SELECT setval('pets_id_seq', greatest($1, last_value)) FROM pets_id_seq"

var (
	newIDs = []string{"name", "category_id", "status", "key_id", "idempotency_key"}
	ownIDs = append([]string{"id"}, newIDs...)
)

// Load implements petstore.PetStore.
func (s *Store) Load(ctx context.Context, pets iter.Seq2[petstore.NewPet, error]) (int, error) {
	return s.load(ctx, petstore.Loading(pets), newIDs)
}

// Restore implements petstore.PetStore. The table must be empty; that the
// sequence has given numbers says nothing, since those of writes that were
// rolled back are among them.
func (s *Store) Restore(ctx context.Context, pets iter.Seq2[petstore.Pet, error]) (int, error) {
	return s.load(ctx, petstore.Restoring(pets), ownIDs)
}

// load copies pets in one transaction, on a connection of its own: those of the
// pools are few, and given up where the server is too slow for requests, which is
// no reason to undo minutes of work. Nothing of it is tried again but the question
// after its commit, whether that was done. The first pet carries an idempotency
// key of the server's, by which that can be told.
func (s *Store) load(ctx context.Context, pets iter.Seq2[petstore.Pet, error], columns []string) (int, error) {
	if !s.beginWrite() {
		return 0, errClosed
	}
	defer s.writing.Done()
	l := &copying{columns: columns, wish: petstore.Idempotency{KeyID: serverMade, Key: s.prefix + strconv.FormatInt(s.number.Add(1), 10)}}
	err := s.alone(ctx, func(c *pgx.Conn) error { return l.run(ctx, c, pets) })
	switch {
	case l.refusal != nil:
		return 0, l.refusal
	case err == nil:
		return l.n, nil
	case l.committing: // classOf would not do: pgx says "conn closed", as if nothing had been sent, where the answer to a COMMIT breaks off
		if err := s.settle(ctx, l.wish, err); err != nil {
			return 0, err
		}
		return l.n, nil
	case ctx.Err() != nil:
		return 0, errGaveUp
	case classOf(err) == unknown: // it broke off before the commit
		return 0, &petstore.Error{Kind: petstore.Unavailable, Message: "the database is unavailable", Err: err}
	}
	return 0, translate(err)
}

// alone runs f once with a connection of its own. The server may take outageWait
// to answer, longer than where a request waits, and has retryFor to be found.
func (s *Store) alone(ctx context.Context, f func(*pgx.Conn) error) error {
	config := s.config.ConnConfig.Copy()
	config.ConnectTimeout = max(config.ConnectTimeout, outageWait)
	began, met := time.Now(), false
	for tries := 0; ; tries++ {
		err := once(ctx, config, func(c *pgx.Conn) error {
			met = true
			return f(c)
		})
		if err == nil || met {
			return err
		}
		if c := classOf(err); c == broken || c == clientsFault || time.Since(began) >= retryFor || !pause(ctx, tries) {
			return acquireError{err}
		}
	}
}

// copying is one load under way, and the source of its COPY.
type copying struct {
	columns []string
	wish    petstore.Idempotency

	n          int
	pet        petstore.Pet
	err        error // that ends the source
	refusal    error // by whoever yields the pets, or of one of them
	committing bool  // whether the commit may have been sent
	next       func() (petstore.Pet, error, bool)
	ctx        context.Context
}

func (l *copying) run(ctx context.Context, c *pgx.Conn, pets iter.Seq2[petstore.Pet, error]) error {
	var stop func()
	l.next, stop = iter.Pull2(pets)
	defer stop()
	l.ctx = ctx
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	if err := l.copy(tx); err != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
		defer cancel()
		return errors.Join(err, tx.Rollback(ending))
	}
	// From here on a caller who leaves does not end it, as with carry.
	l.committing = true
	committing, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return warned(c, func() error { return tx.Commit(committing) })
}

func (l *copying) restores() bool { return len(l.columns) == len(ownIDs) }

func (l *copying) copy(tx pgx.Tx) error {
	if l.restores() {
		if err := checkEmpty(l.ctx, tx); err != nil {
			return err
		}
	}
	if _, err := tx.CopyFrom(l.ctx, pgx.Identifier{"pets"}, l.columns, l); err != nil {
		return err
	}
	if l.restores() && l.n > 0 {
		_, err := tx.Exec(l.ctx, setLastID, l.pet.ID)
		return err
	}
	return nil
}

func checkEmpty(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, lockPets); err != nil {
		return err
	}
	var held bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pets)").Scan(&held); err != nil {
		return err
	}
	if held {
		return petstore.ErrNotEmpty
	}
	return nil
}

// Next implements pgx.CopyFromSource, as do Values and Err.
func (l *copying) Next() bool {
	p, err, more := l.next()
	if !more {
		return false
	}
	if err == nil {
		err = l.ctx.Err()
	} else {
		l.refusal = err
	}
	if err != nil {
		l.err = err
		return false
	}
	l.pet = p
	l.n++
	return true
}

func (l *copying) Values() ([]any, error) {
	p := l.pet
	values := make([]any, 0, len(ownIDs))
	if l.restores() {
		values = append(values, p.ID)
	}
	values = append(values, p.Name, p.CategoryID, string(p.Status))
	if l.n == 1 {
		return append(values, l.wish.KeyID, l.wish.Key), nil
	}
	return append(values, nil, nil), nil
}

func (l *copying) Err() error { return l.err }

// settle finds out what became of a commit whose answer did not come. It asks
// until it is told, for commitTimeout at most.
func (s *Store) settle(ctx context.Context, wish petstore.Idempotency, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	for tries := 0; ; tries++ {
		stored := false
		err := s.alone(ctx, func(c *pgx.Conn) error {
			return warned(c, func() (err error) {
				stored, err = isStored(ctx, c, wish)
				return err
			})
		})
		switch {
		case err == nil && stored:
			return nil
		case err == nil:
			return &petstore.Error{Kind: petstore.Unavailable, Message: "the database has not stored the pets", Err: cause}
		case !pause(ctx, tries):
			return errUnknown(errors.Join(cause, err))
		}
	}
}

// isStored inserts the first pet's idempotency key once more: that waits for a
// transaction which has done so and has not ended, and succeeds only where none
// has committed, nor ever will.
func isStored(ctx context.Context, c *pgx.Conn, wish petstore.Idempotency) (bool, error) {
	tx, err := c.Begin(ctx)
	if err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, InsertPet, "", 0, string(petstore.Available), wish.KeyID, wish.Key)
	if err == nil && tag.RowsAffected() == 1 {
		return false, tx.Rollback(ctx)
	}
	if err == nil { // it is there; that a standby has it, the next commit waits for, as with selectPetMade
		_, err = tx.Exec(ctx, "SELECT pg_logical_emit_message(true, 'petstore', '')")
	}
	if err != nil {
		return false, err // with the connection, the transaction ends
	}
	return true, tx.Commit(ctx)
}
