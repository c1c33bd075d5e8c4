// Package store is the contract of stores: they keep pets and API keys. Package storetest
// tests every implementation, and package address opens them.
package store

import (
	"context"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

// Store keeps pets and API keys.
type Store interface {
	pets.Store
	keys.Store
}

// Reader reads a store as it is: it creates, migrates and writes nothing.
type Reader interface {
	Keys(ctx context.Context) ([]keys.Key, error)
	Close() error
}
