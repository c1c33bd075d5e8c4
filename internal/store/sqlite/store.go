// Package sqlite implements store.Store in an SQLite file: the statements and their rows.
package sqlite

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/db/sqlite"
	"example.com/petstore/internal/store"
)

var _ store.Store = (*Store)(nil)

// Store is a store.Store in an SQLite file.
type Store struct{ *sqlite.DB }

// Reader is a store.Reader of an SQLite file.
type Reader struct{ *sqlite.Reader }

//go:embed migrations/*.sql
var embedded embed.FS

var migrations, _ = fs.Sub(embedded, "migrations")

var schema = sqlite.Schema{
	Migrations: migrations,
	Tables:     []string{"pets", "keys"},
}

const prefix = "sqlite:"

// serverAddress matches what looks like the address of a server with a password, which
// must not be printed as a path.
var serverAddress = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:(//|.*@)|password *=`)

func pathOf(address string) string { return strings.TrimPrefix(address, prefix) }

// Kind is the kind of stores in an SQLite file.
var Kind = store.Kind{
	Name: "sqlite", Form: prefix + "PATH",
	Matches: func(address string) bool {
		path, found := strings.CutPrefix(address, prefix)
		return found && !serverAddress.MatchString(path)
	},
	Open: func(ctx context.Context, address string, o db.Options) (store.Store, error) {
		d, err := sqlite.Open(ctx, pathOf(address), schema, o)
		if err != nil {
			return nil, err
		}
		return &Store{d}, nil
	},
	OpenReader: func(ctx context.Context, address string) (store.Reader, error) {
		r, err := sqlite.OpenReader(ctx, pathOf(address), schema)
		if err != nil {
			return nil, err
		}
		return Reader{r}, nil
	},
	Migrate: func(ctx context.Context, address string, logger *slog.Logger) (from, to int64, err error) {
		return sqlite.Migrate(ctx, pathOf(address), schema, logger)
	},
	Files: &store.Files{
		Path: pathOf,
		Backup: func(ctx context.Context, path, file string, force bool) (db.Report, error) {
			return sqlite.Backup(ctx, path, file, schema, force)
		},
		Restore: func(ctx context.Context, path, file string, force bool) (db.Report, error) {
			return sqlite.Restore(ctx, path, file, schema, force)
		},
		Verify: func(ctx context.Context, path string) (db.Report, error) { return sqlite.Verify(ctx, path, schema) },
	},
}
