package files

import (
	"context"
	"fmt"
	"iter"

	"example.com/petstore/internal/pets"
)

// Rejected is the error for a file with invalid rows.
type Rejected struct {
	First     []Row // at most 20 of them
	Good, Bad int   // rows
}

func (r *Rejected) Error() string {
	return fmt.Sprintf("invalid rows: %d of %d", r.Bad, r.Good+r.Bad)
}

// Import stores the pets of rows in one transaction and returns their number. If
// any row is invalid, it stores nothing and returns a *Rejected. Other errors come
// from rows or the store.
func Import(ctx context.Context, st pets.Store, rows iter.Seq2[Row, error], ids bool) (int, error) {
	if ids {
		return st.LoadWithIDs(ctx, acceptable(rows))
	}
	return st.Load(ctx, func(yield func(pets.NewPet, error) bool) {
		for p, err := range acceptable(rows) {
			if !yield(p.WithoutID(), err) {
				return
			}
		}
	})
}

// Check returns what Import would return, but stores nothing.
func Check(rows iter.Seq2[Row, error]) (int, error) {
	n := 0
	for _, err := range acceptable(rows) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// acceptable yields the pets of rows up to the first invalid row. If there is one,
// it reads the rest and then yields a *Rejected.
func acceptable(rows iter.Seq2[Row, error]) iter.Seq2[pets.Pet, error] {
	return func(yield func(pets.Pet, error) bool) {
		var r Rejected
		for row, err := range rows {
			switch {
			case err != nil:
				yield(pets.Pet{}, err)
				return
			case row.Err != nil:
				if r.Bad++; r.Bad <= 20 {
					r.First = append(r.First, row)
				}
				continue
			}
			r.Good++
			if r.Bad == 0 && !yield(row.Pet, nil) {
				return
			}
		}
		if r.Bad > 0 {
			yield(pets.Pet{}, &r)
		}
	}
}
