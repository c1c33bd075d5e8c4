package main

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

const faultyKey = "a-key-for-the-faulty-store"

// faultyStore fails whatever is asked of its pets. Its keys are not asked for.
type faultyStore struct {
	petstore.Store
	fail func() error
}

func (s faultyStore) Ping(context.Context) error { return nil }

func (s faultyStore) Final() bool { return false }

func (s faultyStore) CreatePet(context.Context, petstore.NewPet) (petstore.Pet, error) {
	return petstore.Pet{}, s.fail()
}

func (s faultyStore) Pet(context.Context, int64) (petstore.Pet, error) {
	return petstore.Pet{}, s.fail()
}

func (s faultyStore) Pets(context.Context, petstore.Query) (petstore.Page, error) {
	return petstore.Page{}, s.fail()
}

var failures = []struct {
	name string
	want int
	fail func() error
}{
	{"unavailable", 503, func() error {
		return &petstore.Error{Kind: petstore.Unavailable, Message: "the disk is full", Err: errors.New("SQL logic error")}
	}},
	{"internal", 500, func() error {
		return &petstore.Error{Kind: petstore.Internal, Message: "the database failed", Err: errors.New("SQL logic error")}
	}},
	{"an error of no kind", 500, func() error { return errors.New("SQL logic error at /var/lib/pets.db") }},
	{"panicking", 500, func() error { panic("SQL logic error") }},
}
