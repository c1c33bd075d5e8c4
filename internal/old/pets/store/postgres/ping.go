package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/postgres/primary"
)

// Ping implements pets.Store. It reads pets and keys with the statements of the
// operations, and asks whether the user may insert into each column. An INSERT,
// even of no row, would wait for every statement that keeps writers away, such as an
// import that keeps identifiers.
func (s *Store) Ping(ctx context.Context) error {
	err := s.db.Ping(ctx, []primary.Statement{mayInsert}, []primary.Statement{readPets, readKeys})
	switch {
	case err == nil:
		return nil
	case primary.OutcomeOf(err) == primary.NeedsOperator:
		return unavailable("the database refuses the statements of requests", err)
	}
	return unavailable("no writable primary can be reached", err)
}

var (
	mayInsert = primary.Statement{
		SQL:  "SELECT bool_and(has_column_privilege('pets', name, 'INSERT')) FROM unnest($1::text[]) AS columns (name)",
		Args: []any{inserted},
		Scan: func(r pgx.BatchResults) error {
			var may bool
			err := r.QueryRow().Scan(&may)
			if err == nil && !may {
				err = &primary.Error{Outcome: primary.NeedsOperator, Err: errors.New("the user may not insert pets")}
			}
			return err
		},
	}
	readPets = primary.Statement{
		SQL:  SelectPets,
		Args: []any{int64(0), 1},
		Scan: func(r pgx.BatchResults) error { return scanOrNone(r, scanned(new(pets.Pet))) },
	}
	readKeys = primary.Statement{
		SQL:  selectKey,
		Args: []any{""},
		Scan: func(r pgx.BatchResults) error {
			_, err := r.Exec()
			return err
		},
	}
)

func scanOrNone(r pgx.BatchResults, into []any) error {
	if err := r.QueryRow().Scan(into...); !isNoRows(err) {
		return err
	}
	return nil
}
