package storetest

import (
	"errors"
	"iter"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// snapshot returns one of a store that has only all.
func snapshot(all []pets.Pet) store.Snapshot {
	s := store.Snapshot{Pets: Sequence(nil, all...), Requests: Sequence[pets.KeyedRequest](nil), Keys: Sequence[keys.Key](nil)}
	if len(all) > 0 {
		s.LastID = all[len(all)-1].ID
	}
	return s
}

// Fill fills an empty store with n times p.
func Fill(t testing.TB, s store.Store, n int, p pets.NewPet) {
	t.Helper()
	all := make([]pets.Pet, n)
	for i := range all {
		all[i] = pets.Pet{ID: int64(i + 1), NewPet: p}
	}
	mustFill(t, s, all)
}

func mustFill(t testing.TB, s store.Store, all []pets.Pet) {
	t.Helper()
	if err := s.Fill(t.Context(), snapshot(all)); err != nil {
		t.Fatalf("Fill: got error %v", err)
	}
}

// content is a Snapshot that was read.
type content struct {
	LastID   int64
	Pets     []pets.Pet
	Requests []pets.KeyedRequest
	Keys     []keys.Key
}

func read(t testing.TB, s store.Snapshot) content {
	t.Helper()
	return content{s.LastID, all(t, s.Pets), all(t, s.Requests), all(t, s.Keys)}
}

func all[T any](t testing.TB, seq iter.Seq2[T, error]) (values []T) {
	t.Helper()
	for v, err := range seq {
		if err != nil {
			t.Fatalf("Snapshot: got error %v", err)
		}
		values = append(values, v)
	}
	return values
}

// snapshot calls use with a snapshot of s.
func (f Factory) snapshot(t testing.TB, s store.Store, use func(store.Snapshot) error) error {
	t.Helper()
	r := f.Reader(t, s)
	defer r.Close()
	return r.Snapshot(t.Context(), use)
}

func (f Factory) contentOf(t testing.TB, s store.Store) (c content) {
	t.Helper()
	err := f.snapshot(t, s, func(s store.Snapshot) error {
		c = read(t, s)
		return nil
	})
	if err != nil {
		t.Fatalf("Snapshot: got error %v", err)
	}
	return c
}

// testCopy copies a store with records of every kind, and with gaps between identifiers.
// The copy keeps them when it is reopened.
func testCopy(t *testing.T, f Factory) {
	if f.Reader == nil {
		return
	}
	from, to := f.open(t), f.open(t)
	for _, p := range newPets(300) {
		mustCreate(t, from, p)
	}
	once := mustCreateOnce(t, from, newPet(), mine)
	last := mustCreateOnce(t, from, newPet(), pets.IdempotencyKey{KeyID: "yours", Key: "k1"}).ID
	if f.Remove != nil {
		f.Remove(t, from, once.ID-1)
		f.Remove(t, from, last)
	}
	limited := newKey("bbbbbbbb", noon)
	limited.ReadOnly, limited.ExpiresAt = true, noon.Add(time.Hour)
	for _, k := range []keys.Key{limited, newKey("aaaaaaaa", noon), newKey("cccccccc", noon)} {
		mustCreateKey(t, from, k)
	}
	mustRecordUse(t, from, map[string]time.Time{"aaaaaaaa": noon.Add(time.Minute)})
	if _, err := from.RevokeKey(t.Context(), "cccccccc", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	reader := f.Reader(t, from)
	defer reader.Close()
	if err := store.Copy(t.Context(), reader, to, new(store.Counts)); err != nil {
		t.Fatalf("Copy: got error %v", err)
	}
	want := f.contentOf(t, from)
	for range 3 {
		if got := f.contentOf(t, to); len(got.Requests) != 2 || len(got.Keys) != 3 || !reflect.DeepEqual(got, want) {
			t.Fatalf("the copy: got %.3000v, want %.3000v", got, want)
		}
		if got := mustCreateOnce(t, to, newPet(), mine); !equal(got, once) {
			t.Errorf("a request that is repeated in the copy: got %v, want %v", got, once)
		}
		next := mustCreate(t, to, newPet())
		if next.ID <= last {
			t.Errorf("CreatePet in the copy: got id %d, want one greater than %d", next.ID, last)
		}
		last = next.ID
		want.Pets, want.LastID = append(want.Pets, next), last
		to = f.reopen(t, to)
	}
}

// testFillNotEmpty fills stores that hold, or have held, something.
func testFillNotEmpty(t *testing.T, f Factory) {
	request := pets.KeyedRequest{IdempotencyKey: mine, PetID: 7, Fingerprint: newPet().Fingerprint(), CreatedAt: noon}
	for what, from := range map[string]store.Snapshot{
		"a pet":       snapshot(petsWithGaps(1)),
		"an API key":  {Pets: Sequence[pets.Pet](nil), Requests: Sequence[pets.KeyedRequest](nil), Keys: Sequence(nil, newKey("aaaaaaaa", noon))},
		"a request":   {LastID: 7, Pets: Sequence[pets.Pet](nil), Requests: Sequence(nil, request), Keys: Sequence[keys.Key](nil)},
		"given an id": {LastID: 7, Pets: Sequence[pets.Pet](nil), Requests: Sequence[pets.KeyedRequest](nil), Keys: Sequence[keys.Key](nil)},
	} {
		s := f.open(t)
		if err := s.Fill(t.Context(), from); err != nil {
			t.Fatalf("Fill with %s: got error %v", what, err)
		}
		if err := s.Fill(t.Context(), snapshot(nil)); !errors.Is(err, store.ErrNotEmpty) {
			t.Errorf("Fill of a store with %s: got error %v, want ErrNotEmpty", what, err)
		}
		if next := mustCreate(t, s, newPet()); next.ID <= from.LastID {
			t.Errorf("CreatePet in a store with %s: got id %d, want one greater than %d", what, next.ID, from.LastID)
		}
	}
	if f.Remove == nil {
		return
	}
	s := f.open(t)
	f.Remove(t, s, mustCreate(t, s, newPet()).ID)
	if err := s.Fill(t.Context(), snapshot(nil)); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("Fill of a store whose pet was removed: got error %v, want ErrNotEmpty", err)
	}
}

// testSnapshot writes to the store while it is read.
func testSnapshot(t *testing.T, f Factory) {
	if f.Reader == nil {
		return
	}
	s := f.open(t)
	mustCreate(t, s, newPet())
	before := f.contentOf(t, s)
	err := f.snapshot(t, s, func(snapshot store.Snapshot) error {
		mustCreateOnce(t, s, newPet(), mine)
		mustCreateKey(t, s, newKey("aaaaaaaa", noon))
		if got := read(t, snapshot); !reflect.DeepEqual(got, before) {
			t.Errorf("Snapshot: got %v, want %v", got, before)
		}
		return errors.New("stop")
	})
	if err == nil {
		t.Error("Snapshot: got no error, want one like the function's")
	}
	if got := f.contentOf(t, s); len(got.Pets) != 2 || len(got.Requests) != 1 || len(got.Keys) != 1 {
		t.Errorf("after Snapshot: got %v", got)
	}
}

// testFillFails checks that a failed Fill stores nothing.
func testFillFails(t *testing.T, f Factory) {
	s := f.open(t)
	some, broken := petsWithGaps(3), errors.New("the source broke off")
	pet, request, key := snapshot(some), snapshot(some), snapshot(some)
	pet.Pets, request.Requests = Sequence(broken, some...), Sequence[pets.KeyedRequest](broken)
	key.Keys = Sequence(broken, newKey("aaaaaaaa", noon))
	for _, from := range []store.Snapshot{pet, request, key} {
		if err := s.Fill(t.Context(), from); err == nil {
			t.Error("Fill from what breaks off: got no error")
		}
	}
	wantAll(t, s, nil)
	mustFill(t, s, some)
	wantAll(t, s, some)
}

// testFillConcurrent fills a store several times at once.
func testFillConcurrent(t *testing.T, f Factory) {
	s := f.open(t)
	mustFill(t, s, nil) // which leaves it empty
	some := petsWithGaps(30)
	var filled atomic.Int32
	concurrently(4, func(int) {
		err := s.Fill(t.Context(), snapshot(some))
		if err == nil {
			filled.Add(1)
		} else if !errors.Is(err, store.ErrNotEmpty) && pets.KindOf(err) != pets.Unavailable {
			t.Errorf("Fill: got error %v, want ErrNotEmpty", err)
		}
	})
	if filled.Load() != 1 {
		t.Errorf("Fill: got %d that succeeded, want 1", filled.Load())
	}
	wantAll(t, s, some)
}

func testMaxID(t *testing.T, f Factory) {
	s := f.open(t)
	stored := []pets.Pet{{ID: pets.MaxID - 2, NewPet: newPet()}}
	mustFill(t, s, stored)
	var err error
	for range 3 { // at most two; gaps are allowed
		var pet pets.Pet
		if pet, err = s.CreatePet(t.Context(), newPet(), pets.IdempotencyKey{}); err != nil {
			break
		}
		stored = append(stored, pet)
	}
	wantKind(t, "CreatePet after the last identifier", err, pets.Internal)
	wantAll(t, s, stored)
}
