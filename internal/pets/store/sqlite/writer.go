package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// maxInsert is how many rows one statement inserts at most.
const maxInsert = 32

// writer is the one connection that writes, with its statements.
type writer struct {
	*connection
	begin, commit, rollback         *sql.Stmt
	insertPets                      [maxInsert]*sql.Stmt // of 1, 2 … rows, prepared when first needed
	insertPetOnce, selectPetMade    *sql.Stmt
	args                            []any    // of insertPets, used again and again
	pet                             pets.Pet // whose values go to args
	insertKey, revokeKey, rotateKey *sql.Stmt
	recordUse                       *sql.Stmt
	fold                            *sql.Stmt
	pageSize                        int64
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	db.SetMaxOpenConns(1)
	c, err := connect(ctx, db, dbfile.WriterPragmas)
	if err != nil {
		return nil, err
	}
	w := &writer{
		connection:    c,
		begin:         c.prepare(ctx, "BEGIN IMMEDIATE"),
		commit:        c.prepare(ctx, "COMMIT"),
		rollback:      c.prepare(ctx, "ROLLBACK"),
		insertPetOnce: c.prepare(ctx, insertPetOnce),
		selectPetMade: c.prepare(ctx, selectPetMade),
		insertKey:     c.prepare(ctx, insertKey),
		revokeKey:     c.prepare(ctx, revokeKey),
		rotateKey:     c.prepare(ctx, rotateKey),
		recordUse:     c.prepare(ctx, recordUse),
		fold:          c.prepare(ctx, foldLog),
	}
	if c.err == nil {
		c.err = c.conn.QueryRowContext(ctx, "PRAGMA page_size").Scan(&w.pageSize)
	}
	if c.err != nil {
		return nil, errors.Join(c.err, c.close())
	}
	return w, nil
}

// insert inserts the pets of the jobs, up to maxInsert with a statement. A
// statement that breaks a constraint is undone, and its pets are inserted one by
// one, so that only those fail that have to.
func (w *writer) insert(jobs []*job) error {
	for some := range slices.Chunk(jobs, maxInsert) {
		err := w.insertTogether(some)
		if isConstraint(err) {
			err = w.insertOneByOne(some)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) insertOneByOne(jobs []*job) error {
	for _, j := range jobs {
		if j.err = w.insertTogether([]*job{j}); j.err != nil && !isConstraint(j.err) {
			return j.err
		}
	}
	return nil
}

// insertTogether runs a statement of as many rows. SQLite gives them successive
// identifiers, in their order, as nobody else writes meanwhile.
func (w *writer) insertTogether(jobs []*job) error {
	insert := &w.insertPets[len(jobs)-1]
	if *insert == nil {
		var err error
		if *insert, err = w.prepareLater(context.Background(), insertPets(newIDs, len(jobs))); err != nil {
			return err
		}
	}
	w.args = w.args[:0]
	for _, j := range jobs {
		w.pet = j.pet.WithID(0)
		w.args = appendValues(w.args, &w.pet)
	}
	res, err := (*insert).Exec(w.args...)
	if err != nil {
		return err
	}
	last, err := res.LastInsertId()
	for i, j := range jobs {
		j.id = last - int64(len(jobs)-1-i)
	}
	return err
}
