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
		"sqlite:postgres://pets:SECRET@db/pets", "sqlite:postgres:/pets:SECRET@db", "sqlite:pets:SECRET@db",
		"sqlite:SECRET\n", "sqlite:\u0085SECRET", "postgres://pets:SECRET@db/pets\r", "memory:\n",
	} {
		s, err := address.Open(t.Context(), text, address.Options{})
		if err == nil || s != nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Open(%q): got %v, error %v, want one without the password", text, s, err)
		}
		if path, ok := address.SQLitePath(text); ok || address.Kind(text) != "" || strings.Contains(address.Redact(text), "SECRET") {
			t.Errorf("%q: got path %q, %v, kind %q, redacted %q, want none", text, path, ok, address.Kind(text), address.Redact(text))
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"memory:":                     "memory:",
		"sqlite:pets.db":              "sqlite:pets.db",
		"sqlite:/srv/a:b/me@home.db":  "sqlite:/srv/a:b/me@home.db",
		"sqlite:./a:b@home.db":        "sqlite:./a:b@home.db",
		"sqlite:pass=1 word.db":       "sqlite:pass=1 word.db",
		"sqlite:2026-11-21T12:00.db":  "sqlite:2026-11-21T12:00.db",
		"pets.db":                     "pets.db",
		"mysql:x":                     "mysql:…",
		"host=db password=SECRET":     "…",
		"postgres://u:SECRET@a:1,b/c": "postgres://u:xxxxx@a:1,b/c",
	} {
		if got := address.Redact(text); got != want {
			t.Errorf("Redact(%q): got %q, want %q", text, got, want)
		}
	}
}
