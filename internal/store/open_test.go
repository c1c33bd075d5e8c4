package store_test

import (
	"strings"
	"testing"

	"example.com/petstore/internal/store"
)

func TestOpenUnknown(t *testing.T) {
	for _, address := range []string{
		"", ":", "memory", "memory:x", "Memory:", "sqlite", "SQLITE:x", "pets.db", "/tmp/pets.db", "mysql:x", " sqlite:x",
		"host=db user=pets password=SECRET", "postgres:SECRET", "postgresql:SECRET", "postgres:/pets:SECRET@db/pets",
		"postgres//pets:SECRET@db/pets", "POSTGRES://pets:SECRET@db/pets", " postgres://pets:SECRET@db/pets",
		"mysql://pets:SECRET@db/pets", "pets:SECRET@db", "pets:SECRET", "password=SECRET",
		"sqlite:postgres://pets:SECRET@db/pets", "sqlite:postgres:/pets:SECRET@db", "sqlite:pets:SECRET@db", "sqlite:host=db Password = SECRET",
	} {
		s, err := store.Open(t.Context(), address, store.Options{})
		if err == nil || s != nil || !strings.Contains(err.Error(), store.Addresses) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Open(%q): got %v, error %v, want one that lists the forms of an address, without a password", address, s, err)
		}
		if path, ok := store.SQLitePath(address); ok || path != "" || store.Kind(address) != "" || strings.Contains(store.Redact(address), "SECRET") {
			t.Errorf("%q: got path %q, %v, kind %q, redacted %q, want none", address, path, ok, store.Kind(address), store.Redact(address))
		}
	}
}

func TestRedact(t *testing.T) {
	for address, want := range map[string]string{
		"memory:":                     "memory:",
		"sqlite:pets.db":              "sqlite:pets.db",
		"sqlite:/home/a@b/password:x": "sqlite:/home/a@b/password:x",
		"pets.db":                     "pets.db",
		"mysql:x":                     "mysql:…",
		"host=db password=SECRET":     "…",
		"postgres://pets:SECRET@db1:5432,db2/pets": "postgres://pets:xxxxx@db1:5432,db2/pets",
	} {
		if got := store.Redact(address); got != want {
			t.Errorf("Redact(%q): got %q, want %q", address, got, want)
		}
	}
}
