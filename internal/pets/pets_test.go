package pets_test

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"

	"example.com/petstore/engine/fault"
	"example.com/petstore/internal/pets"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		pets.NewPet
		want string // "" accepts the pet
	}{
		{pets.NewPet{Name: "", CategoryID: math.MinInt64, Status: pets.Sold}, ""},
		{pets.NewPet{Name: "\u2028 🐕 \ufffd\U0010ffff", CategoryID: math.MaxInt64, Status: pets.Available}, ""},
		{pets.NewPet{Name: strings.Repeat("x", 1<<20), Status: pets.Pending}, ""},
		{pets.NewPet{Name: "a\x00", Status: pets.Sold}, "name must not contain U+0000"},
		{pets.NewPet{Name: "\xff", Status: pets.Sold}, "name must be Unicode text"},
		{pets.NewPet{Name: "\xed\xa0\x80", Status: pets.Sold}, "name must be Unicode text"},
		{pets.NewPet{Status: ""}, "status must be one of available, pending, sold"},
		{pets.NewPet{Status: "Sold"}, "status must be one of available, pending, sold"},
	} {
		err := c.Validate()
		if c.want == "" && err != nil || c.want != "" && (fault.KindOf(err) != fault.InvalidBody || err.Error() != c.want) {
			t.Errorf("Validate of %.80q, %d, %q: got error %v, want %q", c.Name, c.CategoryID, c.Status, err, c.want)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	for key, valid := range map[string]bool{
		"k": true, " ": true, strings.Repeat("~", 255): true,
		"": false, "a\x1f": false, "a\x7f": false, "é": false, strings.Repeat("~", 256): false,
	} {
		err := pets.IdempotencyKey{KeyID: "mine", Key: key}.Validate()
		if valid != (err == nil) || !valid && fault.KindOf(err) != fault.InvalidRequest {
			t.Errorf("Validate of %.20q: got error %v, want valid: %v", key, err, valid)
		}
	}
}

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
