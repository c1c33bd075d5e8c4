//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/db/postgres/pgtest"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

func mustOpen(t testing.TB, address string) storetest.Opened { return storetest.Open(t, Kind, address) }

// textColumn is the column of names.
const textColumn = "name"

// once is an idempotency key.
var once = pets.IdempotencyKey{KeyID: "mine", Key: "k1"}

// create creates the pet of a key.
func create(ctx context.Context, s store.Store, key pets.IdempotencyKey) error {
	_, err := s.CreatePet(ctx, example.Named(key.Key), key)
	return err
}

func mustCreate(t *testing.T, s store.Store, key pets.IdempotencyKey) pets.Pet {
	return storetest.Create(t, s, example.Named(key.Key), key)
}

// planted are functions of somebody else, which fit a literal without a cast better than PostgreSQL's own.
const planted = `CREATE FUNCTION public.nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT -1';
CREATE FUNCTION public.equal(oid, regnamespace) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0 = 1';
CREATE OPERATOR public.= (LEFTARG = oid, RIGHTARG = regnamespace, FUNCTION = public.equal)`

func TestKind(t *testing.T) {
	const address = "postgresql://u:SECRET@a:1,b/c"
	assert.True(t, Kind.Matches(address), address)
	assert.Equal(t, "postgresql://u:xxxxx@a:1,b/c", Kind.Redact(address))
}

// TestStore runs the suite directly and through PgBouncer.
func TestStore(t *testing.T) {
	t.Parallel()
	direct := pgtest.Start(t)
	for name, through := range map[string]*pgtest.Server{"direct": direct, "PgBouncer": direct.Pooler(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, factory(func(t testing.TB) string {
				address := direct.Database(t)
				pgtest.Exec(t, address, planted)
				return strings.Replace(address, direct.Host(), through.Host(), 1)
			}))
		})
	}
}

// factory opens stores at the addresses that database returns.
func factory(database func(testing.TB) string) storetest.Factory {
	remove := func(t testing.TB, s storetest.Opened, id int64) {
		pgtest.Exec(t, s.Address, fmt.Sprintf("DELETE FROM petstore.pets WHERE id = %d", id))
	}
	return storetest.Factory{
		Kind: Kind, Address: database,
		Change: func(t testing.TB, s storetest.Opened, p pets.Pet) {
			remove(t, s, p.ID)
			pgtest.Query[int64](t, s.Address, insertPetOfKey+" RETURNING id", fields(&p)...)
		},
		Remove: remove,
		Last: func(t testing.TB, s storetest.Opened, id int64) {
			pgtest.Exec(t, s.Address, fmt.Sprintf("SELECT setval("+sequence+", %d)", id))
		},
		Age: func(t testing.TB, s storetest.Opened, key pets.IdempotencyKey, by time.Duration) {
			created := time.Now().Add(-by).Format(time.RFC3339Nano) // Citus takes no STABLE function
			pgtest.Exec(t, s.Address, fmt.Sprintf("UPDATE petstore.idempotency_keys SET created_at = '%s'"+
				" WHERE key = '%s' AND key_id = '%s'", created, key.Key, key.KeyID))
		},
	}
}

// TestLeastPrivilege serves as the role that the page creates, which cannot create or revoke API keys.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Address("postgres")
	owner := mustOpen(t, address)
	pgtest.Exec(t, address, sqlOnPage(t, "README.md", "GRANT")...)
	fixture := storetest.NewFixture(t, owner)
	s := mustOpen(t, strings.Replace(address, "postgres@", "petstore_serve@", 1))
	for range 2 { // a repeat reads
		mustCreate(t, s, once)
	}
	for method, err := range fixture.EveryMethod(t.Context(), t, s) {
		forbidden := method == "CreateKey" || method == "RevokeKey"
		assert.Equal(t, forbidden, err != nil, "%s: got error %v", method, err)
	}
}

// TestSync cancels waits for a standby: neither a create with an idempotency key, which is repeated, nor
// another write may succeed. Each statement of a repeat waits: on Citus they may run on different nodes.
func TestSync(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	s := mustOpen(t, address)
	server.Configure(t, "synchronous_standby_names", "absent")
	done := make(chan error, 1)
	for statement, send := range map[string]func() error{
		insertPet: func() error { return create(t.Context(), s, pets.IdempotencyKey{}) },
		insertKey: func() error { return s.CreateKey(t.Context(), keys.Key{ID: "mine", Name: "mine"}) },
	} {
		go func() { done <- send() }()
		pgtest.CancelSync(t, address, statement)
		assert.ErrorContains(t, <-done, "the outcome of the write is unknown", statement)
	}
	assert.Equal(t, 1, pgtest.Query[int](t, address, "SELECT count(*) FROM petstore.pets"), "pets created without a key")
	go func() { done <- create(t.Context(), s, once) }()
	for _, statement := range []string{insertBoth, selectIdempotencyKey, selectPetOfKey, selectIdempotencyKey} {
		pgtest.CancelSync(t, address, statement)
	}
	assert.Empty(t, done, "CreatePet has answered before nothing waits")
	server.Configure(t, "synchronous_standby_names", "")
	assert.NoError(t, <-done, "CreatePet, once nothing waits")
}

// TestOperatorFaults checks that errors which only the operator can fix say what to fix.
func TestOperatorFaults(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, pgtest.Start(t).Database(t))
	storetest.Fill(t, s, 2)
	pgtest.Exec(t, s.Address, "SELECT setval("+sequence+", 1, false)")
	for _, key := range []pets.IdempotencyKey{{}, once} {
		err := create(t.Context(), s, key)
		dbtest.WantKind(t, "CreatePet with an identifier in use", err, fault.Internal)
		assert.ErrorContains(t, err, "setval")
	}
	assert.EqualValues(t, 3, mustCreate(t, s, once).ID)
	pgtest.Exec(t, s.Address, "CREATE UNIQUE INDEX lone ON petstore.pets ((true)) WHERE id > 2")
	err := create(t.Context(), s, pets.IdempotencyKey{})
	assert.ErrorContains(t, err, "the database failed: ERROR", "CreatePet that violates another index")
}

// TestLongNames checks that one pet more than the limit is sent, and no name beyond the page's end.
func TestLongNames(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, pgtest.Start(t).Database(t))
	for _, p := range example.Pets(20) {
		p.Name = example.LongText(20_000)
		storetest.Create(t, s, p, pets.IdempotencyKey{})
	}
	for _, q := range []pets.ListQuery{{}, slices.Collect(maps.Values(example.Filters()))[0]} {
		q.Limit = 3
		sql, args := selectList(q, false)
		sent := pgtest.Query[string](t, s.Address, "SELECT count(*) || ' pets, ' || sum(octet_length("+textColumn+")) FROM ("+sql+") page (id, "+textColumn+")", args...)
		assert.Equal(t, "4 pets, 40000", sent, "bytes of names sent for %+v", q)
		page, err := s.Pets(t.Context(), q)
		ok := err == nil && len(page.Pets) == 2 && page.More
		assert.True(t, ok, "Pets(%+v): got %d pets, more %v, error %v, want 2 and more", q, len(page.Pets), page.More, err)
	}
}

// TestForget forgets keys a thousand at a time, by their index and the server's clock, not the process's.
func TestForget(t *testing.T) {
	t.Parallel()
	address := mustOpen(t, pgtest.Start(t).Database(t)).Address
	pgtest.Exec(t, address, "INSERT INTO petstore.idempotency_keys SELECT n, '', n, '', now() + (n > 1001)::int * interval '1 day' FROM generate_series(1, 20000) n",
		"ANALYZE petstore.idempotency_keys")
	plan := pgtest.Query[string](t, address, "EXPLAIN (FORMAT JSON) "+selectOldIdempotencyKeys, time.Now())
	assert.Contains(t, plan, `"idempotency_keys_by_time"`)
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, address)
		for _, want := range []int{1000, 1, 0} {
			n, err := s.ForgetIdempotencyKeys(t.Context(), -time.Hour)
			assert.NoError(t, err)
			assert.Equal(t, want, n)
		}
	})
}

// TestPlan checks that each page of a filter is a range of its index.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, pgtest.Start(t).Database(t))
	const many = 10_000
	for i, p := range example.Pets(3) { // the last has a value of its own
		made := storetest.Create(t, s, p, pets.IdempotencyKey{})
		pgtest.Exec(t, s.Address, fmt.Sprintf("INSERT INTO petstore.pets ("+newPetList+") SELECT "+newPetList+
			" FROM petstore.pets, generate_series(1, %d) WHERE id = %d", []int{many, 2 * many, 0}[i], made.ID))
	}
	pgtest.Exec(t, s.Address, "ANALYZE petstore.pets")
	conn, err := pgx.Connect(t.Context(), s.Address)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for filter, q := range example.Filters() {
			for _, q.After = range []int64{0, many - 40} {
				q.Limit = 20
				sql, args := selectList(q, false)
				explain := fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE page('%s', %d)", args...)
				steps := "SET plan_cache_mode = " + mode + "; DEALLOCATE ALL; PREPARE page AS " + sql + "; " + explain
				results, err := conn.PgConn().Exec(t.Context(), steps).ReadAll()
				require.NoError(t, err)
				plan := fmt.Sprintf("%s", results[3].Rows)
				assert.Contains(t, plan, "->  Index Scan using pets_by_", "%s, %s after %d", mode, filter, q.After)
				assert.NotRegexp(t, "Filter|Sort", plan, "%s, %s after %d", mode, filter, q.After)
			}
		}
	}
}

// sqlOnPage returns the statements of the block of SQL with a word on a page of deploy/postgres.
func sqlOnPage(t testing.TB, page, word string) []string {
	text, err := os.ReadFile("../../../deploy/postgres/" + page)
	require.NoError(t, err)
	block := regexp.MustCompile("```sql\n([^`]*" + word + "[^`]*)\n```").FindSubmatch(text)
	require.NotNil(t, block, "%s: a block of SQL with %s", page, word)
	return strings.SplitAfter(string(block[1]), ";\n")
}
