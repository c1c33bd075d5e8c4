// Package store opens stores by their addresses. It is the one place that
// knows which there are.
package store

import (
	"context"
	"fmt"
	"strings"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/sqlite"
)

// Memory is the address of the store that keeps nothing.
const Memory = "memory:"

// Addresses says which addresses Open takes, for -h and error messages.
const Addresses = "sqlite:PATH or memory:"

// Open opens the store at that address, makes it and brings its schema up to
// date if need be. The caller closes it.
func Open(ctx context.Context, address string) (petstore.Store, error) {
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case found && scheme == "sqlite":
		return opened(sqlite.Open(ctx, rest))
	case address == Memory:
		return memory.New(), nil
	}
	return nil, fmt.Errorf("unknown store %q: give %s", address, Addresses)
}

// Redact returns the address without what is secret of it, for logs.
func Redact(address string) string { return address }

// opened returns no store at all beside an error, where a nil pointer of a
// store's own type would not be nil any more.
func opened[S petstore.Store](s S, err error) (petstore.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
