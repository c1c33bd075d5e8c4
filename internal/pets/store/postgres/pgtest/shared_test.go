//go:build postgres

package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestADatabaseIsEmptyAndOfItsTestAlone(t *testing.T) {
	one, two := Database(t), Database(t)
	for _, address := range []string{one, two} {
		Exec(t, address, "CREATE TABLE pets (id bigint)")
	}
	if one == two {
		t.Errorf("got %s twice, want two databases", one)
	}
}

// The test before runs again in a process of its own, with a server that asks
// for a password, and a user who may do nothing but create databases.
func TestTheServerThatTheVariableNamesIsTakenAndItsPasswordNeverShown(t *testing.T) {
	const secret = "hunter2/ü"
	server := Start(t, "log_connections=on", "log_statement=ddl")
	here := server.Address("postgres")
	Exec(t, here, "CREATE ROLE tester LOGIN CREATEDB PASSWORD '"+secret+"'")
	rules := filepath.Join(server.data(), "pg_hba.conf")
	usual, err := os.ReadFile(rules)
	if err == nil {
		err = os.WriteFile(rules, append([]byte("host all tester 127.0.0.1/32 scram-sha-256\n"), usual...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	Exec(t, here, "SELECT pg_reload_conf()")

	for name, address := range map[string]string{
		"before the host": strings.Replace(here, "postgres@", "tester:hunter2%2F%C3%BC@", 1),
		"as a parameter":  strings.Replace(here, "postgres@", "tester@", 1) + "&password=hunter2%2F%C3%BC",
		"wrong":           strings.Replace(here, "postgres@", "tester:hunter22@", 1),
	} {
		t.Run(name, func(t *testing.T) {
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			before := len(server.Log())
			tests := exec.Command(program, "-test.run", "^TestADatabaseIsEmptyAndOfItsTestAlone$", "-test.v")
			tests.Env = append(os.Environ(), Variable+"="+address)
			said, err := tests.CombinedOutput()
			if wrong := name == "wrong"; (err != nil) != wrong {
				t.Errorf("got error %v, want one %t: %s", err, wrong, said)
			} else if made := strings.Count(server.Log()[before:], "CREATE DATABASE test_"); made != 2 && !wrong {
				t.Errorf("got %d databases made on the server, want 2", made)
			}
			if strings.Contains(string(said), "hunter2") {
				t.Errorf("got the password in what the tests say: %s", said)
			}
		})
	}
	if left := Query[int](t, here, "SELECT count(*) FROM pg_database WHERE datname LIKE 'test_%'"); left != 0 {
		t.Errorf("got %d databases left behind, want none", left)
	}
}

func TestAnAddressThatNamesNoServerIsOneSentenceWithoutIt(t *testing.T) {
	for _, address := range []string{"host=db password=hunter2", "postgres:hunter2", "mysql://u:hunter2@db/x", "postgres://u:%zzhunter2@db/x"} {
		if got, err := withoutPassword(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %s (error %v), want an error that does not show it", address, got, err)
		}
	}
}

func TestADatabaseFromThePoolIsEmptyAndKeepsItsSchema(t *testing.T) {
	pool := NewDatabasePool(t, "")
	first, release := pool.Take(t)
	Exec(t, first, "CREATE TABLE pets (id bigint GENERATED ALWAYS AS IDENTITY, name text)", "CREATE TABLE goose_db_version (version_id bigint)",
		"INSERT INTO goose_db_version VALUES (7)", "INSERT INTO pets (name) VALUES ('Rex'), ('Tom')")
	other, _ := pool.Take(t)
	release()
	again, _ := pool.Take(t)
	if other == first || again != first {
		t.Fatalf("got %s, then %s, then the first released, %s; want another one, then the first", first, other, again)
	}
	Exec(t, again, "INSERT INTO pets (name) VALUES ('Tim')")
	if got := Query[string](t, again, "SELECT string_agg(id || name, ',') FROM pets"); got != "1Tim" {
		t.Errorf("got the pets %s, want 1Tim alone", got)
	}
	if got := Query[int](t, again, "SELECT version_id FROM goose_db_version"); got != 7 {
		t.Errorf("got version %d, want it kept: 7", got)
	}
}
