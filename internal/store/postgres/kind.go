package postgres

import (
	"context"
	"strings"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/store"
)

// Kind is the kind of stores in a PostgreSQL database.
var Kind = store.Kind{
	Name: "postgres", Form: "postgres://USER:PASSWORD@HOST/DATABASE", Standbys: true,
	Matches: func(address string) bool {
		return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
	},
	Redact: Redact,
	Open: func(ctx context.Context, address string, o db.Options) (store.Store, error) {
		s, err := Open(ctx, address, o)
		if err != nil {
			return nil, err // not a nil *Store
		}
		return s, nil
	},
	OpenReader: OpenReader,
	Migrate:    Migrate,
}
