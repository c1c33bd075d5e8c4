package storetest

import (
	"reflect"
	"testing"

	"example.com/petstore/internal/pets"
)

// fillPet gives each property below v a value that is neither zero nor its default.
func fillPet(t *testing.T, v reflect.Value) {
	t.Helper()
	for field, value := range v.Fields() {
		switch {
		case field.Type == reflect.TypeFor[pets.Idempotency]():
		case field.Type == reflect.TypeFor[pets.Status]():
			value.SetString(string(pets.Sold))
		case value.CanInt():
			value.SetInt(42)
		case value.CanUint():
			value.SetUint(42)
		case value.CanFloat():
			value.SetFloat(4.25)
		case value.Kind() == reflect.Bool:
			value.SetBool(true)
		case value.Kind() == reflect.String:
			value.SetString("the " + field.Name)
		case value.Kind() == reflect.Struct:
			fillPet(t, value)
		default:
			t.Fatalf("%s: got the type %s, want a value for it here", field.Name, field.Type)
		}
	}
}

// everyPropertyIsKept asks for each property by the fields of NewPet, whatever they are.
func everyPropertyIsKept(t *testing.T, open opener) {
	var p pets.NewPet
	fillPet(t, reflect.ValueOf(&p).Elem())
	want := func(t *testing.T, how string, got pets.Pet) {
		t.Helper()
		for field, value := range reflect.ValueOf(got).Fields() {
			if sent := reflect.ValueOf(p.WithID(got.ID)).FieldByIndex(field.Index); !value.Equal(sent) {
				t.Errorf("%s of a pet %s: got %v, want %v; add it to the columns of the store", field.Name, how, value, sent)
			}
		}
	}
	read := func(t *testing.T, how string, s pets.Store) {
		t.Helper()
		all := mustWalk(t, s, "", 10, nil)
		if len(all) == 0 {
			t.Fatalf("pets that were %s: got none, want them", how)
		}
		for _, listed := range all {
			want(t, how+" and listed", listed)
			pet, err := s.Pet(t.Context(), listed.ID)
			if err != nil {
				t.Fatalf("pet %d: got error %v, want it", listed.ID, err)
			}
			want(t, how+" and read", pet)
		}
		for _, filtered := range mustWalk(t, s, p.Status, 10, nil) {
			want(t, how+" and listed by its status", filtered)
		}
	}

	s := open(t)
	mustCreate(t, s, p)
	read(t, "created", s)

	loaded := open(t)
	if _, err := loaded.Load(t.Context(), sequence([]pets.NewPet{p})); err != nil {
		t.Fatalf("loading: got error %v, want none", err)
	}
	read(t, "loaded", loaded)

	filled := open(t)
	if _, err := filled.LoadWithIDs(t.Context(), sequence([]pets.Pet{p.WithID(7)})); err != nil {
		t.Fatalf("loading with identifiers: got error %v, want none", err)
	}
	read(t, "loaded with identifiers", filled)

	once := p
	once.Idempotency = pets.Idempotency{KeyID: "caller", Key: "once"}
	for range 2 {
		pet, err := s.CreatePet(t.Context(), once)
		if err != nil {
			t.Fatalf("an idempotent create: got error %v, want the pet; perhaps a property is not in the columns of the store", err)
		}
		want(t, "created once", pet)
	}
}
