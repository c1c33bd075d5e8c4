package pets_test

import (
	"encoding/hex"
	"reflect"
	"testing"

	"example.com/petstore/internal/pets"
)

// TestFingerprint checks that no release and no new property changes the fingerprint of a pet: the first try of a
// request may have been before an upgrade.
func TestFingerprint(t *testing.T) {
	const want = "c00a6757ac174a3fe2e26b0f2481be032a0c8ab698b4febc30baee95c00925d4"
	if got := hex.EncodeToString(pets.NewPet{Name: "Frank", CategoryID: 1, Status: pets.Sold}.Fingerprint()); got != want {
		t.Errorf("Fingerprint: got %s, want %s", got, want)
	}
	for field := range reflect.TypeFor[pets.NewPet]().Fields() {
		if got := field.Tag.Get("json"); got != ",omitzero" { // every property is part of it
			t.Errorf("NewPet.%s: got the tag json:%q, want \",omitzero\"", field.Name, got)
		}
	}
}
