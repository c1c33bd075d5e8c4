package address_test

import (
	"strings"
	"testing"

	"example.com/petstore/internal/store/address"
)

func TestOpenUnknown(t *testing.T) {
	for _, text := range []string{
		"", ":", "memory", "memory:x", "Memory:", "sqlite", "SQLITE:x", "pets.db", "/tmp/pets.db", "mysql:x", " sqlite:x",
		"host=db user=pets password=SECRET", "postgres:SECRET", "postgresql:SECRET", "postgres:/pets:SECRET@db/pets",
		"postgres//pets:SECRET@db/pets", "POSTGRES://pets:SECRET@db/pets", " postgres://pets:SECRET@db/pets",
		"mysql://pets:SECRET@db/pets", "pets:SECRET@db", "pets:SECRET", "password=SECRET",
		"sqlite:postgres://pets:SECRET@db/pets", "sqlite:postgres:/pets:SECRET@db", "sqlite:pets:SECRET@db", "sqlite:host=db Password = SECRET",
	} {
		s, err := address.Open(t.Context(), text, address.Options{})
		if err == nil || s != nil || !strings.Contains(err.Error(), address.Forms) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Open(%q): got %v, error %v, want one that lists the forms of an address, without a password", text, s, err)
		}
		if path, ok := address.SQLitePath(text); ok || path != "" || address.Kind(text) != "" || strings.Contains(address.Redact(text), "SECRET") {
			t.Errorf("%q: got path %q, %v, kind %q, redacted %q, want none", text, path, ok, address.Kind(text), address.Redact(text))
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"memory:":                     "memory:",
		"sqlite:pets.db":              "sqlite:pets.db",
		"sqlite:/home/a@b/password:x": "sqlite:/home/a@b/password:x",
		"pets.db":                     "pets.db",
		"mysql:x":                     "mysql:…",
		"host=db password=SECRET":     "…",
		"postgres://pets:SECRET@db1:5432,db2/pets": "postgres://pets:xxxxx@db1:5432,db2/pets",
	} {
		if got := address.Redact(text); got != want {
			t.Errorf("Redact(%q): got %q, want %q", text, got, want)
		}
	}
}
