// Package storetest tests implementations of store.Store: what the comments of the
// interface promise, and nothing that they leave open, such as gaps between identifiers.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// Opened is a store with its address.
type Opened struct {
	store.Store
	Address string
}

// Open opens a store of a kind, and closes it when the test ends.
func Open(t testing.TB, k store.Kind, address string) Opened {
	s, err := k.Open(t.Context(), address, db.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return Opened{s, address}
}

// Factory knows the stores under test.
type Factory struct {
	Kind store.Kind

	// Address returns the address of an empty store that shares nothing with the others.
	Address func(t testing.TB) string

	// What operators may do: Change replaces the stored pet that has the identifier of p,
	// Remove removes a pet, Last makes id the last identifier in use, and Age makes an
	// idempotency key older.
	Change func(t testing.TB, s Opened, p pets.Pet)
	Remove func(t testing.TB, s Opened, id int64)
	Last   func(t testing.TB, s Opened, id int64)
	Age    func(t testing.TB, s Opened, key pets.IdempotencyKey, by time.Duration)

	// Batch is how many idempotency keys are forgotten at once, if less than 60.
	Batch int
}

// Run tests the stores of f. The tests run in parallel.
func Run(t *testing.T, f Factory) {
	for name, run := range map[string]func(*testing.T, Factory){
		"CreatePet":             testCreatePet,
		"Pets":                  testPets,
		"Idempotency":           testIdempotency,
		"IdempotencyConcurrent": testIdempotencyConcurrent,
		"ForgetIdempotencyKeys": testForgetIdempotencyKeys,
		"Keys":                  testKeys,
		"RecordKeyUse":          testRecordKeyUse,
		"Load":                  testLoad,
		"Close":                 testClose,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, f)
		})
	}
}

func (f Factory) open(t testing.TB) Opened { return Open(t, f.Kind, f.Address(t)) }

// testLoad creates pets concurrently and walks over them meanwhile, then closes the store. Some
// clients go away, at different moments: while their create waits, runs or is committed.
func testLoad(t *testing.T, f Factory) {
	s := f.open(t)
	var closing atomic.Bool
	var creates atomic.Int64
	var names sync.Map // by the text of what was sent
	create := func(ctx context.Context, name string, keyed bool) (int64, error) {
		p, key := example.Named(name), pets.IdempotencyKey{KeyID: "mine", Key: name}
		names.Store(text(p), name)
		if !keyed {
			key = noKey
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Microsecond<<(creates.Add(1)%34)) // up to hours
			defer cancel()
		}
		pet, err := s.CreatePet(ctx, p, key)
		rejected := closing.Load() && fault.KindOf(err) == fault.Unavailable
		assert.True(t, err == nil || ctx.Err() != nil || rejected, "CreatePet: got error %v, want none", err)
		return pet.ID, err
	}
	list := func(s store.Store, q pets.ListQuery) func(context.Context) (dbtest.Rows, error) {
		q.Limit = 17
		return func(context.Context) (dbtest.Rows, error) {
			rows := dbtest.Rows{}
			for _, p := range walk(t, s, q) {
				name, _ := names.Load(text(p.NewPet))
				rows[fmt.Sprint(name)] = append(rows[fmt.Sprint(name)], p.ID)
			}
			return rows, nil
		}
	}
	l := dbtest.Load(t, create)
	for _, q := range listQueries() {
		if example.Selects(q, pets.Pet{NewPet: example.Pet()}) {
			l.Read(t, list(s, q))
		}
	}
	l.Wait(t, 100)
	l.Check(t, list(s, pets.ListQuery{}))

	l = dbtest.Load(t, create)
	l.Wait(t, 50)
	closing.Store(true)
	assert.NoError(t, s.Close())
	if !f.Kind.Volatile {
		l.Check(t, list(Open(t, f.Kind, s.Address), pets.ListQuery{}))
	}
}

// Fixture is what EveryMethod needs in a store.
type Fixture struct {
	Pet pets.Pet
	Key keys.Key
}

// NewFixture creates a Fixture in s.
func NewFixture(t testing.TB, s store.Store) Fixture {
	f := Fixture{Create(t, s, example.Pet(), noKey), newKey("abcdefgh", noon)}
	require.NoError(t, s.CreateKey(t.Context(), f.Key))
	return f
}

// EveryMethod calls every method of s but Failed and Close, and returns the errors.
func (f Fixture) EveryMethod(ctx context.Context, t testing.TB, s store.Store) map[string]error {
	errs := map[string]error{"Ping": s.Ping(ctx)}
	_, errs["CreatePet"] = s.CreatePet(ctx, example.Pet(), noKey)
	_, errs["Pet"] = s.Pet(ctx, f.Pet.ID)
	_, errs["Pets"] = s.Pets(ctx, pets.ListQuery{Limit: 1})
	for filter, q := range example.Filters() {
		q.Limit = 1
		_, errs["Pets by "+filter] = s.Pets(ctx, q)
	}
	_, errs["ForgetIdempotencyKeys"] = s.ForgetIdempotencyKeys(ctx, -time.Hour)
	errs["CreateKey"] = s.CreateKey(ctx, newKey("latelate", noon))
	_, errs["Key"] = s.Key(ctx, f.Key.ID)
	_, errs["Keys"] = s.Keys(ctx)
	_, errs["RevokeKey"] = s.RevokeKey(ctx, f.Key.ID, noon)
	errs["RecordKeyUse"] = s.RecordKeyUse(ctx, uses{f.Key.ID: noon})
	for m := range reflect.TypeFor[store.Store]().Methods() {
		_, called := errs[m.Name]
		assert.True(t, called || m.Name == "Failed" || m.Name == "Close", "EveryMethod does not call %s", m.Name)
	}
	return errs
}

// testClose calls every method with a canceled context, where it may do its work or nothing, and after Close.
func testClose(t *testing.T, f Factory) {
	s := f.open(t)
	fixture := NewFixture(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := fixture.EveryMethod(ctx, t, s)
	for what, err := range errs {
		ok := err == nil || fault.ByCaller(err) || fault.KindOf(err) == fault.Unavailable
		assert.True(t, ok, "%s with an ended context: got error %v, want none, or that it did nothing", what, err)
	}
	if errs["CreatePet"] != nil {
		wantAll(t, s, []pets.Pet{fixture.Pet})
	}
	if errs["CreateKey"] != nil && errs["RevokeKey"] != nil && errs["RecordKeyUse"] != nil {
		wantKeys(t, s, fixture.Key)
	}
	assert.NoError(t, s.Ping(t.Context()), "Ping")
	assert.Empty(t, s.Failed(), "Failed")
	concurrently(4, func(int) { assert.NoError(t, s.Close()) })
	for what, err := range fixture.EveryMethod(t.Context(), t, s) {
		dbtest.WantKind(t, what+" after Close", err, fault.Unavailable)
	}
}

// listQueries returns a query for all pets, and one for each filter.
func listQueries() []pets.ListQuery {
	return append(slices.Collect(maps.Values(example.Filters())), pets.ListQuery{})
}

// Fill creates n pets.
func Fill(t testing.TB, s store.Store, n int) {
	for range n {
		Create(t, s, example.Pet(), noKey)
	}
}

// text returns pets in JSON, as Fingerprint does, to compare and print them: they may hold lists and pointers.
func text(p any) string { return string(example.Must(json.Marshal(p))) }

func equal(a, b pets.Pet) bool { return text(a) == text(b) }

// noKey is the key of a request without one.
var noKey pets.IdempotencyKey

// Create creates p, and returns it.
func Create(t testing.TB, s store.Store, p pets.NewPet, key pets.IdempotencyKey) pets.Pet {
	pet, err := s.CreatePet(t.Context(), p, key)
	ok := err == nil && text(pet.NewPet) == text(p) && pet.ID > 0 && pet.ID <= pets.MaxID
	require.True(t, ok, "CreatePet: got %.500s, error %v, want %.500s", text(pet), err, text(p))
	return pet
}

func wantPet(t testing.TB, s store.Store, want pets.Pet) {
	got, err := s.Pet(t.Context(), want.ID)
	assert.NoError(t, err, "Pet(%d)", want.ID)
	assert.Equal(t, text(want), text(got), "Pet(%d)", want.ID)
}

// walk reads all pets that q selects, page by page.
func walk(t testing.TB, s store.Store, q pets.ListQuery) (all []pets.Pet) {
	for {
		asked := q
		page, err := s.Pets(t.Context(), q)
		ok := err == nil && (!page.More || len(page.Pets) == q.Limit)
		for _, p := range page.Pets {
			ok = ok && p.ID > q.After
			q.After = p.ID
		}
		all = append(all, page.Pets...)
		assert.True(t, ok, "Pets(%+v): got %.1000s, error %v, want a full page or the last", asked, text(page), err)
		if !ok || !page.More {
			return all
		}
	}
}

// wantAll checks that s holds exactly the pets in want.
func wantAll(t testing.TB, s store.Store, want []pets.Pet) {
	got := walk(t, s, pets.ListQuery{Limit: 100})
	isSame := slices.EqualFunc(got, want, equal)
	assert.True(t, isSame, "got %d pets %.2000s, want %d pets %.2000s", len(got), text(got), len(want), text(want))
}

// concurrently calls f(0) to f(n-1) at once and waits for them.
func concurrently(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
