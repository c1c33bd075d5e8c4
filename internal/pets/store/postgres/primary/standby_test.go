//go:build postgres

package primary

import (
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestRequireSyncRefusesAServerThatWaitsForNoStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	db := open(t, address)
	wantRefusal := func(when, want string) {
		t.Helper()
		if err := db.RequireSync(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want a refusal that says %q", when, err, want)
		}
	}
	server.Configure(t, map[string]string{"synchronous_standby_names": "one"})
	wantRefusal("without the standby", "no synchronous standby streams from the server")
	server.Configure(t, map[string]string{"synchronous_standby_names": ""})
	standby := server.Standby(t, "one")
	for _, c := range []struct{ names, commit, want string }{
		{"", "on", "synchronous_standby_names is empty"},
		{"another", "on", "no synchronous standby streams from the server"},
		{"one", "off", "synchronous_commit is off"},
		{"one", "local", "synchronous_commit is local"},
	} {
		server.Configure(t, map[string]string{"synchronous_standby_names": c.names, "synchronous_commit": c.commit})
		wantRefusal(c.names+", "+c.commit, c.want)
	}
	for _, c := range []struct{ names, commit string }{{"one", "remote_write"}, {"one", "on"}, {"ANY 1 (one, two)", "remote_apply"}} {
		server.Configure(t, map[string]string{"synchronous_standby_names": c.names, "synchronous_commit": c.commit})
		pgtest.Eventually(t, time.Minute, c.names+", "+c.commit+": being accepted", func() bool { return db.RequireSync(t.Context()) == nil })
	}

	// Only members of pg_monitor see the standbys.
	pgtest.Exec(t, address, "CREATE ROLE pets LOGIN")
	db = open(t, strings.Replace(address, "postgres@", "pets@", 1))
	wantRefusal("without the right to see it", `GRANT pg_monitor TO "pets"`)
	pgtest.Exec(t, address, "GRANT pg_monitor TO pets")
	if err := db.RequireSync(t.Context()); err != nil {
		t.Errorf("with pg_monitor: got error %v, want none", err)
	}
	// The setting of the sessions of the service counts.
	pgtest.Exec(t, address, "ALTER ROLE pets SET synchronous_commit = off")
	wantRefusal("switched off for the role", "synchronous_commit is off")
	pgtest.Exec(t, address, "ALTER ROLE pets RESET synchronous_commit")
	standby.Kill()
	pgtest.Eventually(t, time.Minute, "being refused without its standby", func() bool { return db.RequireSync(t.Context()) != nil })
}
