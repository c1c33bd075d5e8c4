//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

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
	t.Helper()
	return storetest.Create(t, s, example.Named(key.Key), key)
}

// planted are functions of somebody else, which fit a literal without a cast better than PostgreSQL's own.
const planted = `CREATE FUNCTION public.nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT -1';
CREATE FUNCTION public.equal(oid, regnamespace) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0 = 1';
CREATE OPERATOR public.= (LEFTARG = oid, RIGHTARG = regnamespace, FUNCTION = public.equal)`

func TestKind(t *testing.T) {
	const address, want = "postgresql://u:SECRET@a:1,b/c", "postgresql://u:xxxxx@a:1,b/c"
	if got := Kind.Redact(address); !Kind.Matches(address) || got != want {
		t.Errorf("got %t, and printed as %s, want true and %s", Kind.Matches(address), got, want)
	}
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
	exec := func(t testing.TB, s storetest.Opened, format string, args ...any) {
		pgtest.Exec(t, s.Address, fmt.Sprintf(format, args...))
	}
	remove := func(t testing.TB, s storetest.Opened, id int64) {
		exec(t, s, "DELETE FROM petstore.pets WHERE id = %d", id)
	}
	return storetest.Factory{
		Kind: Kind, Address: database,
		Change: func(t testing.TB, s storetest.Opened, p pets.Pet) {
			remove(t, s, p.ID)
			pgtest.Query[int64](t, s.Address, insertPetOfKey+" RETURNING id", fields(&p)...)
		},
		Remove: remove,
		Last: func(t testing.TB, s storetest.Opened, id int64) {
			exec(t, s, "SELECT setval('petstore.pets_id_seq'::regclass, %d)", id)
		},
		Age: func(t testing.TB, s storetest.Opened, key pets.IdempotencyKey, by time.Duration) {
			exec(t, s, "UPDATE petstore.idempotency_keys SET created_at = '%s' WHERE key = '%s' AND key_id = '%s'", // Citus takes no STABLE function
				time.Now().Add(-by).Format(time.RFC3339Nano), key.Key, key.KeyID)
		},
	}
}

// TestLeastPrivilege serves as the role that the page creates, which cannot create or revoke API keys.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Address("postgres")
	owner := mustOpen(t, address)
	pgtest.Exec(t, address, sqlOnPage(t, "GRANT")...)
	fixture := storetest.NewFixture(t, owner)
	s := mustOpen(t, strings.Replace(address, "postgres@", "petstore_serve@", 1))
	for range 2 { // a repeat reads
		mustCreate(t, s, once)
	}
	for method, err := range fixture.EveryMethod(t.Context(), t, s) {
		if forbidden := method == "CreateKey" || method == "RevokeKey"; (err != nil) != forbidden {
			t.Errorf("%s: got error %v, want one: %v", method, err, forbidden)
		}
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
	cancel := func(statement string) {
		t.Helper()
		dbtest.Eventually(t, statement, func() bool { return pgtest.CancelSync(t, address, statement) })
	}
	done := make(chan error, 1)
	for statement, send := range map[string]func() error{
		insertPet: func() error { return create(t.Context(), s, pets.IdempotencyKey{}) },
		insertKey: func() error { return s.CreateKey(t.Context(), keys.Key{ID: "mine", Name: "mine"}) },
	} {
		go func() { done <- send() }()
		cancel(statement)
		dbtest.WantError(t, statement, <-done, "the outcome of the write is unknown")
	}
	if n := pgtest.Query[int](t, address, "SELECT count(*) FROM petstore.pets"); n != 1 {
		t.Errorf("a create without a key: got %d pets, want 1", n)
	}
	go func() { done <- create(t.Context(), s, once) }()
	for _, statement := range []string{insertBoth, selectIdempotencyKey, selectPetOfKey, selectIdempotencyKey} {
		cancel(statement)
	}
	if len(done) > 0 {
		t.Fatalf("CreatePet: got error %v, want no answer yet", <-done)
	}
	server.Configure(t, "synchronous_standby_names", "")
	dbtest.WantError(t, "CreatePet, once nothing waits", <-done, "")
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
		dbtest.WantError(t, "CreatePet with an identifier in use", err, "setval")
	}
	if p := mustCreate(t, s, once); p.ID != 3 {
		t.Errorf("CreatePet, then: got %v, want the id 3", p)
	}
	pgtest.Exec(t, s.Address, "CREATE UNIQUE INDEX lone ON petstore.pets ((true)) WHERE id > 2")
	if err := create(t.Context(), s, pets.IdempotencyKey{}); err == nil || strings.Contains(err.Error(), "setval") {
		t.Errorf("CreatePet that violates another index: got error %v, want one without advice about the sequence", err)
	}
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
		if page, err := s.Pets(t.Context(), q); err != nil || len(page.Pets) != 2 || !page.More || sent != "4 pets, 40000" {
			t.Errorf("Pets(%+v): got %d pets, more %v, error %v, and %s bytes sent, want 2 and 40000", q, len(page.Pets), page.More, err, sent)
		}
	}
}

// TestForget forgets keys a thousand at a time, by their index and the server's clock, not the process's.
func TestForget(t *testing.T) {
	t.Parallel()
	address := mustOpen(t, pgtest.Start(t).Database(t)).Address
	pgtest.Exec(t, address, "INSERT INTO petstore.idempotency_keys SELECT n, '', n, '', now() + (n > 1001)::int * interval '1 day' FROM generate_series(1, 20000) n",
		"ANALYZE petstore.idempotency_keys")
	plan := pgtest.Query[string](t, address, "EXPLAIN (FORMAT JSON) "+selectOldIdempotencyKeys, time.Now())
	if !strings.Contains(plan, `"idempotency_keys_by_time"`) {
		t.Errorf("got plan %s", plan)
	}
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, address)
		for _, want := range []int{1000, 1, 0} {
			if n, err := s.ForgetIdempotencyKeys(t.Context(), -time.Hour); err != nil || n != want {
				t.Errorf("got %d, error %v, want %d", n, err, want)
			}
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
	dbtest.Must(t, err)
	defer conn.Close(t.Context())
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for filter, q := range example.Filters() {
			for _, q.After = range []int64{0, many - 40} {
				q.Limit = 20
				sql, args := selectList(q, false)
				explain := fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE page('%s', %d)", args...)
				steps := "SET plan_cache_mode = " + mode + "; DEALLOCATE ALL; PREPARE page AS " + sql + "; " + explain
				results, err := conn.PgConn().Exec(t.Context(), steps).ReadAll()
				dbtest.Must(t, err)
				plan := fmt.Sprintf("%s", results[3].Rows)
				if !strings.Contains(plan, "->  Index Scan using pets_by_") || regexp.MustCompile("Filter|Sort").MatchString(plan) {
					t.Errorf("%s, %s after %d: got plan\n%s", mode, filter, q.After, plan)
				}
			}
		}
	}
}

// sqlOnPage returns the statements of the block of SQL with a word on the pages of deploy/postgres.
func sqlOnPage(t testing.TB, word string) []string {
	t.Helper()
	pages, _ := filepath.Glob("../../../deploy/postgres/*.md")
	for _, page := range pages {
		text, _ := os.ReadFile(page)
		if block := regexp.MustCompile("```sql\n([^`]*" + word + "[^`]*)\n```").FindSubmatch(text); block != nil {
			return strings.SplitAfter(string(block[1]), ";\n")
		}
	}
	t.Fatalf("deploy/postgres has no page with a block of SQL with %s", word)
	return nil
}
