package store

import (
	"context"
	"fmt"
	"strings"

	"example.com/petstore/internal/old/pets/store/sqlite/upkeep"
)

// Report is the result of Backup, Restore and Verify.
type Report = upkeep.Report

// Backup writes a snapshot of the SQLite file at that address to target, while
// servers write. replace allows it to take the place of a file.
func Backup(ctx context.Context, address, target string, replace bool) (Report, error) {
	path, err := fileAt(address, "pg_basebackup copies a whole server, pg_dump one database")
	if err != nil {
		return Report{}, err
	}
	return upkeep.Backup(ctx, path, target, replace)
}

// Restore puts a copy of a backup in the place of the SQLite file at that
// address. force allows it to replace animals.
func Restore(ctx context.Context, address, backup string, force bool, progress func(part float64)) (Report, error) {
	path, err := fileAt(address, "pg_restore brings back what pg_dump wrote, and a copy by pg_basebackup is started as it is")
	if err != nil {
		return Report{}, err
	}
	return upkeep.Restore(ctx, path, backup, force, progress)
}

// Verify looks at all of the SQLite file at that address, and changes nothing.
func Verify(ctx context.Context, address string) (Report, error) {
	path, err := fileAt(address, "pg_amcheck looks for damage in a database, pg_verifybackup in a copy")
	if err != nil {
		return Report{}, err
	}
	return upkeep.Verify(ctx, path)
}

// fileAt returns the path of the SQLite file at that address. For PostgreSQL it
// names its own tools instead.
func fileAt(address, tools string) (string, error) {
	path, ok := strings.CutPrefix(address, "sqlite:")
	switch {
	case ok:
		return path, nil
	case isPostgres(address):
		return "", fmt.Errorf("PostgreSQL has its own tools for this: %s; deploy/README.md shows how", tools)
	case address == Memory:
		return "", fmt.Errorf("the store memory: keeps nothing between programs; use --store sqlite:PATH")
	}
	return "", CheckAddress(address)
}
