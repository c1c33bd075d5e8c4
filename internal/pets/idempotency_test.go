package pets_test

import (
	"testing"

	"example.com/petstore/internal/pets"
)

func TestARepetitionIsTheSamePetOrIsRefused(t *testing.T) {
	p := pets.NewPet{Name: "Rex", CategoryID: 7, Status: pets.Sold}
	made := p.WithID(3)
	if got, err := p.Repeats(made); err != nil || got != made {
		t.Errorf("the same: got %v (error %v), want %v", got, err, made)
	}
	p.CategoryID++
	if got, err := p.Repeats(made); pets.KindOf(err) != pets.Reused || got != (pets.Pet{}) {
		t.Errorf("another category: got %v (error %v), want no pet and reused", got, err)
	}
}
