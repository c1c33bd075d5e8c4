package sqlite

import (
	"context"
	"log/slog"
	"regexp"
	"strings"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/store"
)

const prefix = "sqlite:"

// serverAddress matches what looks like the address of a server with a password, which
// must not be printed as a path.
var serverAddress = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:(//|.*@)`)

func pathOf(address string) string { return strings.TrimPrefix(address, prefix) }

// Kind is the kind of stores in an SQLite file.
var Kind = store.Kind{
	Name: "sqlite", Form: prefix + "PATH",
	Matches: func(address string) bool {
		path, found := strings.CutPrefix(address, prefix)
		return found && !serverAddress.MatchString(path)
	},
	Open: func(ctx context.Context, address string, o db.Options) (store.Store, error) {
		return Open(ctx, pathOf(address), o)
	},
	OpenReader: func(ctx context.Context, address string) (store.Reader, error) {
		return OpenReader(ctx, pathOf(address))
	},
	Migrate: func(ctx context.Context, address string, logger *slog.Logger) (from, to int64, err error) {
		return Migrate(ctx, pathOf(address), logger)
	},
	Files: &store.Files{Path: pathOf, Backup: Backup, Restore: Restore, Verify: Verify},
}
