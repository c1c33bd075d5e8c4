package animals_test

import (
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/animals"
	"example.com/petstore/internal/pets/web"
)

func TestEveryAnimalIsOneTheServiceAccepts(t *testing.T) {
	body, err := web.Body()
	if err != nil {
		t.Fatal(err)
	}
	n, byStatus := 0, map[pets.Status]int{}
	for p, err := range animals.First(10_000, body) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 && (p != pets.NewPet{Name: "Frank", CategoryID: 1, Status: pets.Sold}) {
			t.Errorf("the first: got %+v, want Frank", p)
		}
		byStatus[p.Status]++
	}
	if n != 6956 || len(byStatus) != 3 {
		t.Errorf("got %d animals of the statuses %v, want 6956 of three", n, byStatus)
	}
	some := 0
	for range animals.First(300, body) {
		some++
	}
	if some != 300 {
		t.Errorf("the first 300: got %d", some)
	}
}
