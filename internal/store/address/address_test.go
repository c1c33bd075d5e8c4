package address_test

import (
	"strings"
	"testing"

	"example.com/petstore/internal/store/address"
)

func TestInvalid(t *testing.T) {
	for _, text := range []string{
		"", ":", "memory", "memory:x", "Memory:", "sqlite", "SQLITE:x", "pets.db", "/tmp/pets.db", "mysql:x", " sqlite:x",
		"host=db user=pets password=SECRET", "postgres:SECRET", "postgresql:SECRET", "postgres:/pets:SECRET@db/pets",
		"postgres//pets:SECRET@db/pets", "POSTGRES://pets:SECRET@db/pets", " postgres://pets:SECRET@db/pets",
		"mysql://pets:SECRET@db/pets", "pets:SECRET@db", "pets:SECRET", "password=SECRET",
		"sqlite:postgres://pets:SECRET@db/pets", "sqlite:postgres:/pets:SECRET@db", "sqlite:pets:SECRET@db",
		"sqlite:host=db password=SECRET", "sqlite:Password = 'SECRET'",
		"sqlite:SECRET\n", "sqlite:\u0085SECRET", "postgres://pets:SECRET@db/pets\r", "memory:\n",
	} {
		var a address.Address
		if err := a.Set(text); err == nil || a.Name != "" || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Set(%q): got %+v, error %v, want one without the password", text, a, err)
		}
	}
}

func TestDefault(t *testing.T) {
	for _, k := range address.Kinds {
		var a address.Address
		if err := a.Set(k.Default); err != nil || a.Name != k.Name || a.String() != k.Default || (a.Path() != "") != (k.Files != nil) {
			t.Errorf("Set(%q): got %q, %q, %q, error %v, want the kind %s", k.Default, a.Name, a.Path(), &a, err, k.Name)
		}
	}
}
