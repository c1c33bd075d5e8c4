//go:build postgres

package postgres_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestADatabaseThatCannotBeOpenedIsOneSentenceWithoutThePassword(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	here := pgtest.Start(t)
	pgtest.Exec(t, here.Address("postgres"), "CREATE USER pets PASSWORD 'other'")
	guarded := strings.Replace(here.Address("postgres"), "postgres@", "pets:"+secret+"@", 1)
	for address, want := range map[string]string{
		"postgres://pets:" + secret + "@127.0.0.1:1/pets":                            "no writable primary can be reached",
		"postgres://pets:" + secret + "@127.0.0.1:1,127.0.0.1:2/pets":                "no writable primary can be reached",
		"postgres://pets:" + secret + "@127.0.0.1:port/pets":                         "malformed",
		"postgres://pets:%zz" + secret + "@127.0.0.1/pets":                           "malformed",
		"postgres://pets:p@" + secret + "@127.0.0.1/pets":                            "malformed",
		"postgres://pets:12/" + secret + "@127.0.0.1/pets":                           "malformed",
		"postgres://pets:" + secret + "@127.0.0.1:99999/pets?connect_timeout=1":      "malformed",
		"postgres://pets:" + secret + "@127.0.0.1/pets?sslmode=x":                    "not there: sslmode=x",
		"postgres://pets:" + secret + "@127.0.0.1/pets?default_query_exec_mode=x":    "not there: default_query_exec_mode=x",
		"postgres://pets:" + secret + "@127.0.0.1/pets?a=b&pool_max_conns=0":         "not there: pool_max_conns=0",
		"postgres://127.0.0.1/pets?pool_max_conns=x&password=" + secret:              "not there: pool_max_conns=x",
		"postgres://127.0.0.1/pets?user=pets;password=" + secret:                     "not there: user=xxxxx",
		"postgres://pets:" + secret + "@127.0.0.1/pets?sslrootcert=/nowhere.pem":     "not there: sslrootcert=/nowhere.pem",
		"postgres://pets:" + secret + "@127.0.0.1/pets?sslcert=/n.pem&sslkey=/n.key": "not there: sslcert=/n.pem&sslkey=/n.key",
		"postgres://pets:" + secret + "@/pets?host=/nowhere":                         "no writable primary can be reached: /nowhere/",
		"postgres://pets:" + secret + "@[::1]:1/pets":                                "no writable primary can be reached: [::1]:1",
		strings.Replace(guarded, "/postgres?", "/postgres?nonsense=1&", 1):           `refuses it: unrecognized configuration parameter "nonsense"`,
		"postgres://pets:" + secret + "@127.0.0.1/pets?target_session_attrs=standby": "primary only",
		strings.Replace(guarded, "/postgres?", "/nowhere?", 1):                       "there is no such database",
		strings.Replace(guarded, "/postgres?", "/nowhere?connect_timeout=1&", 1):     "there is no such database",
		guarded: "the user lacks a right (permission denied for schema public)",
	} {
		s, err := postgres.Open(t.Context(), address)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: got a store, want an error", address)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, want) || strings.Contains(text, secret) || strings.Contains(text, "\n") {
			t.Errorf("%s: got error %q, want one line that says %q and not the password", address, text, want)
		}
	}
}

// The first connection gets no response, as from a server that is busy.
func TestAServerThatIsSlowToAnswerIsOpened(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	slow, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slow.Close() })
	go func() {
		for calls := 0; ; calls++ {
			client, err := slow.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = client.Close() })
			if calls == 0 {
				continue
			}
			if there, err := net.Dial("tcp", server.Host()); err == nil {
				go func() { _, _ = io.Copy(there, client); _ = there.Close() }()
				go func() { _, _ = io.Copy(client, there); _ = client.Close() }()
			}
		}
	}()
	s := open(t, strings.Replace(server.Address("postgres"), server.Host(), slow.Addr().String(), 1))
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: got error %v, want nil", err)
	}
}

func TestAnAddressWithOneStandbyAloneIsRefused(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby(t, "one")
	_, err := postgres.Open(t.Context(), standby.Address("postgres"))
	if err == nil || !strings.Contains(err.Error(), "no writable primary") {
		t.Errorf("got error %v, want one that names no writable primary", err)
	}
	// Beside the primary it is passed over, wherever it stands.
	s := open(t, pgtest.Addresses("postgres", standby, primary))
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: got error %v, want nil", err)
	}
}

func TestADatabaseOfAnotherEncodingIsRefused(t *testing.T) {
	for _, encoding := range []string{"SQL_ASCII", "LATIN1"} {
		address := pgtest.CreateDatabase(t, pgtest.Database(t), "ENCODING '"+encoding+"' LOCALE 'C' TEMPLATE template0")
		_, err := postgres.Open(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), "its encoding is "+encoding+" and not UTF8") {
			t.Errorf("%s: got error %v, want a refusal of the encoding", encoding, err)
		}
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	address := pgtest.Database(t)
	open(t, address)
	pgtest.Exec(t, address, "INSERT INTO "+goose.DefaultTablename+" (version_id, is_applied) VALUES (99, true)")
	_, err := postgres.Open(t.Context(), address)
	if err == nil || !strings.Contains(err.Error(), "its schema is at version 99") || !strings.Contains(err.Error(), "run a newer petstore") {
		t.Errorf("got error %v, want a refusal of the schema", err)
	}
}

func TestEightReplicasMigrateAtOnce(t *testing.T) {
	t.Parallel()
	for range 3 {
		address := pgtest.Database(t)
		migrateAtOnce(t, address, address)
	}
}

// migrateAtOnce has eight replicas open a fresh database by one address, and
// looks at it by another, which leads there directly.
func migrateAtOnce(t *testing.T, direct, address string) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), address)
			if err != nil {
				t.Errorf("replica %d: got error %v, want a store", i, err)
				return
			}
			defer s.Close()
			if _, err := s.CreatePet(t.Context(), pets.NewPet{Name: "Rex", Status: pets.Sold}); err != nil {
				t.Errorf("replica %d: got error %v, want a pet", i, err)
			}
		})
	}
	wg.Wait()
	if n := pgtest.Query[int](t, direct, "SELECT count(*) FROM "+goose.DefaultTablename+" WHERE version_id > 0"); n != 1 {
		t.Errorf("got the first migration applied %d times, want once", n)
	}
	if n := pgtest.Query[int](t, direct, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n != 0 {
		t.Errorf("got %d locks left behind, want none", n)
	}
}

func TestTheConnectionsAreBounded(t *testing.T) {
	address := pgtest.Database(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("pool_max_conns", "2")
	q.Set("application_name", "bounded")
	u.RawQuery = q.Encode()
	s := open(t, u.String())
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 10 {
				if _, err := s.CreatePet(t.Context(), pets.NewPet{Name: "Rex", Status: pets.Sold}); err != nil {
					t.Errorf("creating: got error %v, want a pet", err)
				}
				if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
					t.Errorf("listing: got error %v, want a page", err)
				}
			}
		})
	}
	wg.Wait()
	if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bounded'"); n > 4 {
		t.Errorf("got %d connections, want at most 2 for writing and 2 for reading", n)
	}
}
