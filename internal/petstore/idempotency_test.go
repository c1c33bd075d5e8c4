package petstore_test

import (
	"context"
	"testing"

	"example.com/petstore/internal/petstore"
)

func TestARepetitionIsTheSamePetOrIsRefused(t *testing.T) {
	p := petstore.NewPet{Name: "Rex", CategoryID: 7, Status: petstore.Sold}
	made := p.WithID(3)
	if got, err := p.Repeats(made); err != nil || got != made {
		t.Errorf("the same: got %v (error %v), want %v", got, err, made)
	}
	p.CategoryID++
	if got, err := p.Repeats(made); petstore.KindOf(err) != petstore.Reused || got != (petstore.Pet{}) {
		t.Errorf("another category: got %v (error %v), want no pet and reused", got, err)
	}
}

func TestTheCallerIsWhoTheContextSays(t *testing.T) {
	if got := petstore.Caller(t.Context()); got != "" {
		t.Errorf("without one: got %q, want none", got)
	}
	if got := petstore.Caller(context.WithValue(t.Context(), petstore.CallerKey{}, "mine")); got != "mine" {
		t.Errorf("got %q, want mine", got)
	}
}
