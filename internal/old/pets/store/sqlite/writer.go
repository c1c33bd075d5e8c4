package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// maxInsert is how many rows one statement inserts at most.
const maxInsert = 32

// row is a pet to insert.
type row struct {
	pet pets.Pet // has its identifier once it is inserted
	err error    // for the caller
}

// writer is the one connection that writes, with its statements.
type writer struct {
	*connection
	begin, commit, rollback         *sql.Stmt
	insertPets                      [maxInsert]*sql.Stmt // of 1, 2 … rows, prepared when first needed
	insertPetOnce, selectPetMade    *sql.Stmt
	args                            []any // of insertPets, used again and again
	insertKey, revokeKey, rotateKey *sql.Stmt
	recordUse                       *sql.Stmt
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
	}
	if c.err != nil {
		return nil, errors.Join(c.err, c.close())
	}
	return w, nil
}

// insert inserts rows, up to maxInsert with a statement. A statement that breaks a
// constraint is undone, and its rows are inserted one by one, so that only the rows at
// fault fail.
func (w *writer) insert(rows []*row) error {
	for some := range slices.Chunk(rows, maxInsert) {
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

func (w *writer) insertOneByOne(rows []*row) error {
	for _, r := range rows {
		if r.err = w.insertTogether([]*row{r}); r.err != nil && !isConstraint(r.err) {
			return r.err
		}
	}
	return nil
}

// insertTogether runs one statement for all rows. SQLite gives them successive
// identifiers, in their order, as nobody else writes meanwhile.
func (w *writer) insertTogether(rows []*row) error {
	insert := &w.insertPets[len(rows)-1]
	if *insert == nil {
		var err error
		if *insert, err = w.prepareLater(context.Background(), insertPets(newIDs, len(rows))); err != nil {
			return err
		}
	}
	w.args = w.args[:0]
	for _, r := range rows {
		w.args = appendValues(w.args, &r.pet)
	}
	res, err := (*insert).Exec(w.args...)
	if err != nil {
		return err
	}
	last, err := res.LastInsertId()
	for i, r := range rows {
		r.pet.ID = last - int64(len(rows)-1-i)
	}
	return err
}
