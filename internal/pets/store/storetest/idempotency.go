package storetest

import (
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
)

func idempotency(t *testing.T, open opener) {
	runCases(t, open, []testCase{
		{"The same key makes one pet, however often it is sent", theSameKeyMakesOnePet},
		{"The same key with another pet is refused and changes nothing", theSameKeyWithAnotherPetIsRefusedAndChangesNothing},
		{"A key is another one to another caller, in another case, and without a key", aKeyIsAnotherOneToAnotherCaller},
		{"A key that is no key is refused", aKeyThatIsNoKeyIsRefused},
		{"200 keys sent 16 times at once make 200 pets", with200KeysSent16TimesAtOnceMake200Pets},
		{"Of different pets sent at once with one key, one is made", ofDifferentPetsSentAtOnceWithOneKey},
	})
}

func theSameKeyMakesOnePet(t *testing.T, open opener) {
	s := open(t)
	first := mustCreate(t, s, rexOnce())
	mustCreateMany(t, s, 3)
	for range 3 {
		if got := mustCreate(t, s, rexOnce()); got != first {
			t.Errorf("sent again: got %#v, want %#v", got, first)
		}
	}
	if got := mustWalk(t, s, "", 100, nil); len(got) != 4 {
		t.Errorf("got %d pets, want 4", len(got))
	}
}

func theSameKeyWithAnotherPetIsRefusedAndChangesNothing(t *testing.T, open opener) {
	s := open(t)
	first := mustCreate(t, s, rexOnce())
	for what, change := range map[string]func(*pets.NewPet){
		"name":              func(p *pets.NewPet) { p.Name = "rex" },
		"name with a space": func(p *pets.NewPet) { p.Name += " " },
		"category":          func(p *pets.NewPet) { p.CategoryID++ },
		"status":            func(p *pets.NewPet) { p.Status = pets.Available },
	} {
		other := rexOnce()
		change(&other)
		_, err := s.CreatePet(t.Context(), other)
		wantKind(t, "another "+what, err, pets.Reused)
	}
	if got := mustCreate(t, s, rexOnce()); got != first {
		t.Errorf("sent again: got %#v, want %#v", got, first)
	}
	if got := mustWalk(t, s, "", 100, nil); len(got) != 1 {
		t.Errorf("got %d pets, want 1", len(got))
	}
}

func aKeyIsAnotherOneToAnotherCaller(t *testing.T, open opener) {
	s := open(t)
	made := map[int64]bool{}
	for _, i := range []pets.Idempotency{
		{},
		{},
		{KeyID: "mine", Key: "k1"},
		{KeyID: "yours", Key: "k1"},
		{KeyID: "mine", Key: "K1"},
		{KeyID: "minek", Key: "1"},
		{KeyID: "mine", Key: " k1"},
		{KeyID: "", Key: "k1"},
		{KeyID: "mine", Key: strings.Repeat("k", pets.MaxIdempotencyKey)},
	} {
		p := rexOnce()
		p.Idempotency = i
		made[mustCreate(t, s, p).ID] = true
	}
	if len(made) != 9 {
		t.Errorf("got %d pets, want 9", len(made))
	}
}

func aKeyThatIsNoKeyIsRefused(t *testing.T, open opener) {
	s := open(t)
	for _, key := range []string{"", "a\x00", "a\n", "\x7f", "é", "\xff", strings.Repeat("k", pets.MaxIdempotencyKey+1)} {
		p := rexOnce()
		p.Idempotency.Key = key
		_, err := s.CreatePet(t.Context(), p)
		wantKind(t, strconv.Quote(key), err, pets.Invalid)
	}
	if got := mustWalk(t, s, "", 100, nil); len(got) != 0 {
		t.Errorf("got %d pets, want none", len(got))
	}
}

func with200KeysSent16TimesAtOnceMake200Pets(t *testing.T, open opener) {
	const keys, times = 200, 16
	s := open(t)
	made := make([][keys]pets.Pet, times)
	each(times, func(i int) {
		for n := range keys {
			p := pets.NewPet{
				Name: "pet " + strconv.Itoa(n), CategoryID: int64(n), Status: statusOf(n),
				Idempotency: pets.Idempotency{KeyID: "mine", Key: strconv.Itoa(n)},
			}
			pet, err := s.CreatePet(t.Context(), p)
			if err != nil {
				t.Errorf("key %d, time %d: got error %v, want a pet", n, i, err)
			}
			made[i][n] = pet
		}
	})
	listed := mustWalk(t, s, "", 100, nil)
	if len(listed) != keys {
		t.Errorf("got %d pets, want %d", len(listed), keys)
	}
	for i := range times {
		if made[i] != made[0] {
			t.Errorf("time %d: got other pets than the time before, want the same", i)
		}
	}
}

func ofDifferentPetsSentAtOnceWithOneKey(t *testing.T, open opener) {
	s := open(t)
	animals := make([]pets.Pet, 16)
	errs := make([]error, len(animals))
	each(len(animals), func(i int) {
		p := rexOnce()
		p.CategoryID = int64(i)
		animals[i], errs[i] = s.CreatePet(t.Context(), p)
	})
	made := 0
	for i, err := range errs {
		if err == nil {
			made++
			mustFind(t, s, animals[i])
			continue
		}
		wantKind(t, "a pet that came second", err, pets.Reused)
	}
	if listed := mustWalk(t, s, "", 100, nil); made != 1 || len(listed) != 1 {
		t.Errorf("got %d made and %d pets, want 1 and 1", made, len(listed))
	}
}

// rexOnce is a pet with an idempotency key.
func rexOnce() pets.NewPet {
	return pets.NewPet{
		Name: "Rex", CategoryID: 7, Status: pets.Sold,
		Idempotency: pets.Idempotency{KeyID: "mine", Key: "k1"},
	}
}
