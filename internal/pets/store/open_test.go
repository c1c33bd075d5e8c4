package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store"
)

func TestAnAddressOpensItsStore(t *testing.T) {
	for _, address := range []string{store.Memory, "sqlite:" + filepath.Join(t.TempDir(), "a:b c.db")} {
		s, err := store.Open(t.Context(), address)
		if err != nil {
			t.Errorf("%s: got error %v, want a store", address, err)
			continue
		}
		want := pets.NewPet{Name: "Rex", CategoryID: 7, Status: pets.Sold}
		if pet, err := s.CreatePet(t.Context(), want); err != nil || pet != want.WithID(pet.ID) {
			t.Errorf("%s: got pet %v (error %v), want %v", address, pet, err, want)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: got error %v on closing, want nil", address, err)
		}
	}
}

func TestAnAddressThatNamesNoStoreIsRefused(t *testing.T) {
	for _, address := range []string{"", ":", "memory", "memory:x", "memory: ", "Memory:", "sqlite", "SQLITE:x", "pets.db", "/tmp/pets.db", "mysql:x", " sqlite:x"} {
		s, err := store.Open(t.Context(), address)
		if err == nil {
			t.Errorf("%q: got a store, want an error", address)
			_ = s.Close()
			continue
		}
		if !strings.Contains(err.Error(), store.Addresses) {
			t.Errorf("%q: got error %q, want it to say %q", address, err, store.Addresses)
		}
	}
	if _, err := store.Open(t.Context(), "sqlite:"); err == nil || !strings.Contains(err.Error(), "not a file name") {
		t.Errorf("sqlite: without a path: got error %v, want one about the file name", err)
	}
}

// Redacted addresses go into logs. These hold no secret; one that does belongs
// here with its store.
func TestARedactedAddressStillTellsStoresApart(t *testing.T) {
	for _, address := range []string{store.Memory, "sqlite:pets.db"} {
		if got := store.Redact(address); got != address {
			t.Errorf("got %q, want %q", got, address)
		}
	}
}

func TestAnAddressThatNamesNoStoreShowsNoPassword(t *testing.T) {
	for _, address := range []string{
		"host=db user=pets password=hunter2", "host=db:5432 password=hunter2", "postgres:hunter2", "postgresql:hunter2",
		"postgres:/pets:hunter2@db/pets", "postgres//pets:hunter2@db/pets", "POSTGRES://pets:hunter2@db/pets",
		" postgres://pets:hunter2@db/pets", "mysql://pets:hunter2@db/pets", "pets:hunter2", "password=hunter2",
	} {
		_, err := store.Open(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), store.Addresses) {
			t.Errorf("%s: got error %v, want one that does not show the password", address, err)
		}
	}
}
