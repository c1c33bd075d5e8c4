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

func TestValid(t *testing.T) {
	for text, want := range map[string][3]string{ // kind, path and what is printed
		"memory:":                    {"memory", "", "memory:"},
		"sqlite:pets.db":             {"sqlite", "pets.db", "sqlite:pets.db"},
		"sqlite:/srv/a:b/me@home.db": {"sqlite", "/srv/a:b/me@home.db", "sqlite:/srv/a:b/me@home.db"},
		"sqlite:./a:b@home.db":       {"sqlite", "./a:b@home.db", "sqlite:./a:b@home.db"},
		"sqlite:pass=1 word.db":      {"sqlite", "pass=1 word.db", "sqlite:pass=1 word.db"},
		"sqlite:2026-11-21T12:00.db": {"sqlite", "2026-11-21T12:00.db", "sqlite:2026-11-21T12:00.db"},
	} {
		var a address.Address
		if err := a.Set(text); err != nil || [3]string{a.Name, a.Path(), a.String()} != want {
			t.Errorf("Set(%q): got %q, %q, %q, error %v, want %q", text, a.Name, a.Path(), a.String(), err, want)
		}
	}
}
