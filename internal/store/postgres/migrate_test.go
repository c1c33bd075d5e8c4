//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// TestMigrate goes up and down with one more migration, whose steps take longer than the
// server allows a transaction to be idle.
func TestMigrate(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	pgtest.Exec(t, address, "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET idle_in_transaction_session_timeout = 10'; END $$")
	first, err := fs.ReadFile(migrations, "00001_schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"00001_schema.sql": {Data: first},
		"00002_age.sql": {Data: []byte("-- +goose Up\nALTER TABLE pets ADD age int;\nSELECT pg_sleep(0.1);\n" +
			"-- +goose Down\nALTER TABLE pets DROP age;\nSELECT pg_sleep(0.1);\n")},
	}
	for _, c := range []struct{ version, from, to int64 }{
		{1, 0, 1}, {0, 1, 2}, {0, 2, 2}, {1, 2, 1}, {1, 1, 1}, {2, 1, 2}, {3, 0, 0}, {-1, 0, 0}, {1, 2, 1},
	} {
		var from, to int64
		_, err := open(t.Context(), address, store.Options{}, true, func(conn *pgx.Conn, _ session) (err error) {
			from, to, err = migrate(t.Context(), conn, files, c.version, lockWait, slog.New(slog.DiscardHandler))
			return err
		})
		if from != c.from || to != c.to || (err != nil) != (c.to == 0) {
			t.Fatalf("migrate to %d: got from %d to %d, error %v, want from %d to %d", c.version, from, to, err, c.from, c.to)
		}
		pgtest.Exec(t, address, "INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'sold')")
	}
	if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 9 {
		t.Errorf("got %d pets, want 9", n)
	}
}

// TestMigrateLocked waits for a lock that another session keeps, and is interrupted.
func TestMigrateLocked(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	holder, err := pgx.Connect(t.Context(), address+"&application_name=holder")
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	lock := func(function string) {
		t.Helper()
		if _, err := holder.Exec(t.Context(), "SELECT "+function+"($1)", migrateLock); err != nil {
			t.Fatal(err)
		}
	}
	lock("pg_advisory_lock")
	var log strings.Builder
	process := fmt.Sprintf("process %d (holder of postgres at 127.0.0.1", holder.PgConn().PID())
	_, err = open(t.Context(), address, store.Options{}, true, func(conn *pgx.Conn, _ session) error {
		_, _, err := migrate(t.Context(), conn, migrations, 0, lockNotice+time.Second, slog.New(slog.NewTextHandler(&log, nil)))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), process) || strings.Count(log.String(), process) != 1 {
		t.Errorf("migrate: got error %v and the log %s, want %q in both", err, &log, process)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = look(interrupted, holder)
	if err := explainOpen(address, err); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "connect_timeout") {
		t.Errorf("interrupted: got error %v, want one without advice about the network", err)
	}
	lock("pg_advisory_unlock")
	for _, from := range []int64{0, 1} { // if the schema is current, the lock is not needed
		got, to, err := Migrate(t.Context(), address, 0, slog.New(slog.DiscardHandler))
		if err != nil || got != from || to != 1 {
			t.Errorf("Migrate: got from %d to %d, error %v, want from %d to 1", got, to, err, from)
		}
		lock("pg_advisory_lock")
	}
}

// TestPlan checks that each page of a status is a range of the index, however the statuses
// go with the identifiers.
func TestPlan(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	s, err := Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const third = 100_000
	pgtest.Exec(t, address, fmt.Sprintf(`INSERT INTO pets (name, category_id, status)
SELECT 'Rex', 1, CASE WHEN n <= %d THEN 'pending' WHEN n = 2 * %[1]d THEN 'sold' ELSE 'available' END FROM generate_series(1, 3 * %[1]d) n`, third), "ANALYZE pets")
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		conn, err := pgx.Connect(t.Context(), address+"&plan_cache_mode="+mode)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
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
