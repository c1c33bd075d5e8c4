package files

import (
	"context"
	"iter"

	"example.com/petstore/internal/old/pets"
)

// Import brings the pets of a file into a store in two readings. Check finds the
// faults of the file before anything is stored, and Store stores the pets.
type Import struct {
	Source   *Source
	Reading  Reading
	KeepGood bool            // leave out the rows that are not acceptable
	Reject   func(Row) error // called for each unacceptable row that Check meets
	Step     func()          // called for each row, in both readings

	Good, Bad int // rows, as Check has counted them
}

// FileError is an error of the file, and not of the store.
type FileError struct{ error }

// Unwrap returns the cause.
func (e FileError) Unwrap() error { return e.error }

// Check reads the file for the first time. It fails where the file as a whole
// cannot be read, and where Reject does; Bad rows are no error.
func (im *Import) Check(ctx context.Context) error {
	in, err := im.Source.first(ctx)
	if err != nil {
		return im.Source.Fault(0, err)
	}
	for row, err := range im.Reading.Rows(in) {
		switch {
		case err != nil:
			return im.Source.Fault(row.Line, err)
		case row.Err == nil:
			im.Good++
		default:
			im.Bad++
			if err := im.Reject(row); err != nil {
				return err
			}
		}
		im.Step()
	}
	return nil
}

// Store reads the file once more, into the store, and returns how many pets the
// store has stored: all, or none. A FileError is not the store's.
func (im *Import) Store(ctx context.Context, st pets.PetStore) (int, error) {
	if im.Reading.IDs {
		return st.LoadWithIDs(ctx, animals(im.second(ctx), func(r Row) pets.Pet { return r.Pet.WithID(r.ID) }))
	}
	return st.Load(ctx, animals(im.second(ctx), func(r Row) pets.NewPet { return r.Pet }))
}

// second returns the acceptable rows once more. Only at the end does it know that
// they are the same as the first time.
func (im *Import) second(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in, err := im.Source.again(ctx)
		if err != nil {
			yield(Row{}, FileError{im.Source.Fault(0, err)})
			return
		}
		for row, err := range im.Reading.Rows(in) {
			switch {
			case err != nil:
				err = FileError{im.Source.Fault(row.Line, err)}
			case row.Err != nil && im.KeepGood:
				continue
			case row.Err != nil:
				err = FileError{im.Source.errChanged()}
			}
			if !yield(row, err) || err != nil {
				return
			}
			im.Step()
		}
		if err := im.Source.same(); err != nil {
			yield(Row{}, FileError{err})
		}
	}
}

// animals makes animals of rows.
func animals[P any](rows iter.Seq2[Row, error], of func(Row) P) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for row, err := range rows {
			if !yield(of(row), err) {
				return
			}
		}
	}
}
