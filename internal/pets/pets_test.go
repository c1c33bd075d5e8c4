package pets_test

import (
	"encoding/hex"
	"reflect"
	"testing"

	"example.com/petstore/internal/pets"
)

// TestFingerprint checks that every property is part of the fingerprint, that a new one does not
// change the fingerprints of pets without it, and that no release changes them: the first try of a
// request may have been before an upgrade.
func TestFingerprint(t *testing.T) {
	const want = "c00a6757ac174a3fe2e26b0f2481be032a0c8ab698b4febc30baee95c00925d4"
	if got := hex.EncodeToString(pets.NewPet{Name: "Frank", CategoryID: 1, Status: pets.Sold}.Fingerprint()); got != want {
		t.Errorf("Fingerprint: got %s, want %s", got, want)
	}
	for field := range reflect.TypeFor[pets.NewPet]().Fields() {
		if got, want := field.Tag.Get("json"), ",omitzero"; got != want {
			t.Errorf("NewPet.%s: got the tag json:%q, want %q", field.Name, got, want)
		}
	}
}
