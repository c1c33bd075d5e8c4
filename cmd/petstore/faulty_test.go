package main

import (
	"context"
	"errors"

	"example.com/petstore/internal/pets"
)

const faultyKey = "a-key-for-the-faulty-store"

// faultyStore fails whatever is asked of its pets. Its keys are not asked for.
type faultyStore struct {
	pets.Store
	fail func() error
}

func (s faultyStore) Ping(context.Context) error { return nil }

func (s faultyStore) Final() bool { return false }

func (s faultyStore) CreatePet(context.Context, pets.NewPet) (pets.Pet, error) {
	return pets.Pet{}, s.fail()
}

func (s faultyStore) Pet(context.Context, int64) (pets.Pet, error) {
	return pets.Pet{}, s.fail()
}

func (s faultyStore) Pets(context.Context, pets.Query) (pets.Page, error) {
	return pets.Page{}, s.fail()
}

var failures = []struct {
	name string
	want int
	fail func() error
}{
	{"unavailable", 503, func() error {
		return &pets.Error{Kind: pets.Unavailable, Message: "the disk is full", Err: errors.New("SQL logic error")}
	}},
	{"internal", 500, func() error {
		return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: errors.New("SQL logic error")}
	}},
	{"an error of no kind", 500, func() error { return errors.New("SQL logic error at /var/lib/pets.db") }},
	{"panicking", 500, func() error { panic("SQL logic error") }},
}
