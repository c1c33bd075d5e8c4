package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

// pragma is a setting of a connection, and what SQLite answers once it took.
type pragma struct{ name, value, answer string }

// The settings of connections. SQLite itself must not copy the log into the file
// after a commit (wal_autocheckpoint), because it ignores what goes wrong.
var (
	walPragma     = pragma{"journal_mode", "WAL", "wal"}
	busyPragma    = pragma{"busy_timeout", "5000", "5000"}
	writerPragmas = []pragma{
		busyPragma,
		{"foreign_keys", "1", "1"},
		{"synchronous", "FULL", "2"},
		{"journal_size_limit", "16777216", "16777216"},
		{"wal_autocheckpoint", "0", "0"},
	}
	readerPragmas = []pragma{busyPragma, {"query_only", "1", "1"}}
)

// address returns the driver's address of the file. _error_rc keeps the errors
// of other calls out of an error's text.
func address(file string, pragmas []pragma, parameters ...string) string {
	var b strings.Builder
	b.WriteString("file:")
	if strings.HasPrefix(file, "/") {
		b.WriteString("//") // so that two slashes at the beginning are no host
	}
	b.WriteString(strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file))
	b.WriteString("?_txlock=immediate&_error_rc=1")
	for _, p := range pragmas {
		fmt.Fprintf(&b, "&_pragma=%s(%s)", p.name, p.value)
	}
	for _, p := range parameters {
		b.WriteString("&" + p)
	}
	return b.String()
}

// connect returns a pool of one connection, which does not end by itself.
func connect(file string, pragmas []pragma, parameters ...string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", address(file, pragmas, parameters...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// checkPragmas reads the settings back, because SQLite ignores those that it
// cannot apply.
func checkPragmas(ctx context.Context, db *sql.DB, pragmas []pragma) error {
	for _, p := range pragmas {
		var got string
		if err := db.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&got); err != nil {
			return err
		}
		if got != p.answer {
			return fmt.Errorf("SQLite did not take the setting %s=%s: it reads %s; is the file on a network or read-only file system?", p.name, p.value, got)
		}
	}
	return nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date. It changes nothing in a database of
// another program or of a newer version of this one.
func migrate(ctx context.Context, db *sql.DB) error {
	if _, err := schemaVersion(ctx, db); err != nil {
		return err
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return err
	}
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("the schema could not be made: %w", err)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files)
}

// schemaVersion returns the version of the schema, 0 if there is none. It
// rejects the tables of another program, and versions that this program does
// not know.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	tables, err := tableNames(ctx, db)
	if err != nil || len(tables) == 0 {
		return 0, err
	}
	for _, ours := range []string{goose.DefaultTablename, "pets", "keys"} {
		if !slices.Contains(tables, ours) && (len(tables) > 1 || ours == goose.DefaultTablename) {
			return 0, errForeign
		}
	}
	provider, err := newProvider(db)
	if err != nil {
		return 0, err
	}
	sources := provider.ListSources()
	oldest, newest := sources[0].Version, sources[len(sources)-1].Version
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename).Scan(&version)
	switch {
	case err != nil:
		return 0, err
	case version > newest:
		return 0, fmt.Errorf("its schema is at version %d and this program knows versions up to %d; run a newer petstore", version, newest)
	case version > 0 && version < oldest:
		return 0, fmt.Errorf("its schema is at version %d and this program knows versions from %d; run an older petstore", version, oldest)
	}
	return version, nil
}

// tableNames returns the names of all tables but SQLite's own.
func tableNames(ctx context.Context, db *sql.DB) (names []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
