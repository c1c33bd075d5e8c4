// Package postgres implements store.Store on PostgreSQL: the statements and rows of pets and
// API keys. Package engine/db/postgres has the connections, and says what becomes of a
// statement when a server fails. Any number of processes may use a database at once.
package postgres

import (
	"context"
	"embed"
	"io/fs"
	"strings"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/postgres"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/store"
)

var _ store.Store = (*Store)(nil)

//go:embed migrations/*.sql
var embedded embed.FS

var (
	migrations, _ = fs.Sub(embedded, "migrations")
	schema        = postgres.Schema{Name: "petstore", Migrations: migrations}
)

// Store is a store.Store in a PostgreSQL database.
type Store struct{ *postgres.DB }

// Failed implements pets.Store. After a server failure, the store reconnects.
func (s *Store) Failed() <-chan error { return nil }

// Kind is the kind of stores in a PostgreSQL database.
var Kind = store.Kind{
	Name: "postgres", Form: "postgres://USER:PASSWORD@HOST/DATABASE", Server: true,
	Default: "postgres://", // completed by PostgreSQL's own variables, such as PGHOST
	Matches: func(address string) bool {
		return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
	},
	Redact: postgres.Redact,
	Open: func(ctx context.Context, address string, o db.Options) (store.Store, error) {
		database, err := schema.Open(ctx, address, o)
		if err != nil {
			return nil, err
		}
		return &Store{database}, nil
	},
	Keys: func(ctx context.Context, address string) ([]keys.Key, error) {
		database, err := schema.OpenReader(ctx, address)
		if err != nil {
			return nil, err
		}
		defer database.Close()
		return (&Store{database}).Keys(ctx)
	},
	Migrate: schema.Migrate,
}
