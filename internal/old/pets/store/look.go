package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"example.com/petstore/internal/old/pets/store/postgres"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// State is the state of a store before a server opens it.
type State int

// The states of a store.
const (
	Current State = iota // it can be read by Open with ReadOnly
	Missing              // Open would make it
	Older                // Open would bring its schema up to date first
)

// Look returns the state of the store at that address, and changes nothing. It returns
// an error where Open would refuse it without a look into an SQLite file.
func Look(ctx context.Context, address string, mustExist bool) (State, error) {
	path, isFile := strings.CutPrefix(address, "sqlite:")
	switch {
	case isFile:
		return lookFile(path, mustExist)
	case isPostgres(address):
		older, err := postgres.IsOlder(ctx, address)
		if older {
			return Older, err
		}
		return Current, err
	}
	return Missing, CheckAddress(address)
}

// LookFile is Look for an SQLite file, which takes no time; it says nothing of another
// store.
func LookFile(address string) error {
	path, isFile := strings.CutPrefix(address, "sqlite:")
	if !isFile {
		return nil
	}
	_, err := lookFile(path, false)
	return err
}

func lookFile(path string, mustExist bool) (State, error) {
	file, err := dbfile.Place(path)
	if err != nil {
		return Missing, err
	}
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) && !mustExist {
		return Missing, nil
	}
	return Current, nil // an older schema is read by a copy
}
