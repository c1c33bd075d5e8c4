// Package sqlite implements store.Store in an SQLite file: the statements and their rows.
package sqlite

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/sqlite"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/store"
)

var _ store.Store = (*Store)(nil)

// Store is a store.Store in an SQLite file.
type Store struct{ *sqlite.DB }

//go:embed migrations/*.sql
var embedded embed.FS

var migrations, _ = fs.Sub(embedded, "migrations")

// Schema is that of the stores, to back them up, restore and verify them.
var Schema = sqlite.Schema{
	Migrations: migrations,
	Tables:     []string{"pets", "keys"},
}

const prefix = "sqlite:"

// serverAddress matches what looks like the address of a server. It may have a password, and
// must not be printed as a path.
var serverAddress = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:(//|.*@)|password *=`)

func pathOf(address string) string { return strings.TrimPrefix(address, prefix) }

// Kind is the kind of stores in an SQLite file.
var Kind = store.Kind{
	Name: "sqlite", Form: prefix + "PATH", Default: prefix + "petstore.db",
	Matches: func(address string) bool {
		path, found := strings.CutPrefix(address, prefix)
		return found && !serverAddress.MatchString(path)
	},
	Open: func(ctx context.Context, address string, o db.Options) (store.Store, error) {
		d, err := Schema.Open(ctx, pathOf(address), o)
		if err != nil {
			return nil, err
		}
		return &Store{d}, nil
	},
	Keys: func(ctx context.Context, address string) (all []keys.Key, err error) {
		err = Schema.Read(ctx, pathOf(address), func(conn sqlite.Conn) error {
			all, err = allKeys(conn)
			return err
		})
		return all, err
	},
	Migrate: func(ctx context.Context, address string, logger *slog.Logger) (from, to int64, err error) {
		return Schema.Migrate(ctx, pathOf(address), logger)
	},
	Path: pathOf,
}
