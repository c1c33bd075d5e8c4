//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres/pgtest"
	"example.com/petstore/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// mustOpen opens a store and closes it when the test ends.
func mustOpen(t testing.TB, address string) *Store {
	t.Helper()
	s, err := Open(t.Context(), address, db.Options{})
	if err != nil {
		t.Fatalf("Open(%s): got error %v", address, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// connect makes a connection and closes it when the test ends.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disconnect(conn) })
	return conn
}

// refused checks that Open, OpenReader and Migrate fail with an error of one line that
// contains want, and no password.
func refused(t *testing.T, address, want string) {
	t.Helper()
	_, openErr := Open(t.Context(), address, db.Options{})
	_, readErr := OpenReader(t.Context(), address)
	_, _, migrateErr := Migrate(t.Context(), address, slog.New(slog.DiscardHandler))
	for _, err := range []error{openErr, readErr, migrateErr} {
		if text := fmt.Sprint(err); err == nil || !strings.Contains(text, want) || strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
			t.Errorf("%s: got error %q, want one line that says %q", address, text, want)
		}
	}
}

// requestTimeout is how long an API request may take.
const requestTimeout = 8 * time.Second

// newPet returns a pet that the store accepts.
func newPet() pets.NewPet { return pets.NewPet{Name: "Rex", Status: pets.Sold} }

// once is an idempotency key.
var once = pets.IdempotencyKey{KeyID: "mine", Key: "k1"}

func create(ctx context.Context, s pets.Store, key pets.IdempotencyKey) error {
	_, err := s.CreatePet(ctx, newPet(), key)
	return err
}

func mustCreate(t *testing.T, s pets.Store, key pets.IdempotencyKey) pets.Pet {
	t.Helper()
	p, err := s.CreatePet(t.Context(), newPet(), key)
	if err != nil {
		t.Fatalf("CreatePet: got error %v", err)
	}
	return p
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, factory(pgtest.Schema))
}

// opened is a store with its address.
type opened struct {
	store.Store
	address string
}

// factory opens stores at the addresses that database returns.
func factory(database func(testing.TB) string) storetest.Factory {
	start := func(t testing.TB, address string) store.Store { return opened{mustOpen(t, address), address} }
	return storetest.Factory{
		Open: func(t testing.TB) store.Store { return start(t, database(t)) },
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Errorf("Close: got error %v", err)
			}
			return start(t, s.(opened).address)
		},
		Change: func(t testing.TB, s store.Store, p pets.Pet) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("UPDATE pets SET name = '%s', category_id = %d, status = '%s' WHERE id = %d", p.Name, p.CategoryID, p.Status, p.ID))
		},
		Remove: func(t testing.TB, s store.Store, id int64) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("DELETE FROM pets WHERE id = %d", id))
		},
		Last: func(t testing.TB, s store.Store, id int64) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("SELECT setval('pets_id_seq', %d)", id))
		},
		Age: func(t testing.TB, s store.Store, key pets.IdempotencyKey, by time.Duration) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("UPDATE idempotency_keys SET created_at = created_at - interval '%d seconds' WHERE key = '%s' AND key_id = '%s'",
				int64(by.Seconds()), key.Key, key.KeyID))
		},
	}
}

// TestTooManyConnections writes after reads have taken all the connections that a role may
// have, and reads after that.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // not shared, because the role has a fixed name
	address := server.Address("postgres")
	pgtest.Exec(t, address, "CREATE ROLE few LOGIN", "CREATE SCHEMA few AUTHORIZATION few")
	s := mustOpen(t, strings.Replace(address, "postgres@", "few@", 1))
	pgtest.Exec(t, address, "ALTER ROLE few CONNECTION LIMIT 1")
	for range 2 {
		if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
			t.Errorf("Pets: got error %v", err)
		}
		mustCreate(t, s, pets.IdempotencyKey{})
	}
}

// TestOperatorFaults checks that errors which only the operator can mend are no outage, and
// say what to mend.
func TestOperatorFaults(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	s := mustOpen(t, address)
	internal := func(what string, err error, want string) {
		t.Helper()
		if err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v (%v), want Internal with %q", what, err, fault.KindOf(err), want)
		}
	}
	pgtest.Exec(t, address, "INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE SELECT n, 'Rex', 1, 'sold' FROM generate_series(1, 2) n")
	for _, key := range []pets.IdempotencyKey{{}, once} {
		internal("CreatePet with an identifier that is taken", create(t.Context(), s, key), "setval")
	}
	if p := mustCreate(t, s, once); p.ID != 3 {
		t.Errorf("CreatePet, then: got %v, want the id 3", p)
	}
	if err := s.CreateKey(t.Context(), keys.Key{ID: "mine", Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := mustOpen(t, address+"&bytea_output=escape&default_query_exec_mode="+mode).Key(t.Context(), "mine")
		internal("Key with another format of bytea", err, "hash")
	}
}

// TestPlan checks that each page of a status is a range of the index, however the statuses
// go with the identifiers.
func TestPlan(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	s := mustOpen(t, address)
	const third = 100_000
	pgtest.Exec(t, address, fmt.Sprintf(`INSERT INTO pets (name, category_id, status)
SELECT 'Rex', 1, CASE WHEN n <= %d THEN 'pending' WHEN n = 2 * %[1]d THEN 'sold' ELSE 'available' END FROM generate_series(1, 3 * %[1]d) n`, third), "ANALYZE pets")
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		conn := connect(t, address+"&plan_cache_mode="+mode)
		if _, err := conn.Exec(t.Context(), "PREPARE page AS "+s.sql(selectPetsByStatus)+"21"); err != nil {
			t.Fatal(err)
		}
		for _, page := range []string{"'pending', 0", fmt.Sprintf("'pending', %d", third-40), "'sold', 0", "'available', 0"} {
			rows, _ := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE page("+page+")")
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if plan := strings.Join(lines, "\n"); err != nil || len(lines) != 3 || !strings.HasPrefix(lines[1], "  ->  Index Scan using pets_by_status on pets") {
				t.Errorf("%s, page(%s): got error %v, plan\n%s", mode, page, err, plan)
			}
		}
	}
}
