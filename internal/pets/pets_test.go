package pets_test

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/petstore/internal/pets"
)

// TestFingerprint checks that no release and no new property changes the fingerprint of a pet: the first try of a
// request may have been before an upgrade.
func TestFingerprint(t *testing.T) {
	const want = "c00a6757ac174a3fe2e26b0f2481be032a0c8ab698b4febc30baee95c00925d4"
	pet := pets.NewPet{Name: "Frank", CategoryID: 1, Status: pets.Sold}
	assert.Equal(t, want, hex.EncodeToString(pet.Fingerprint()))
	for field := range reflect.TypeFor[pets.NewPet]().Fields() {
		assert.Equal(t, ",omitzero", field.Tag.Get("json"), "NewPet.%s", field.Name) // every property is part of it
	}
}
