package postgres

import (
	"fmt"
	"strings"
	"testing"
)

// TestAddress checks that neither errors nor redacted addresses have the password, and that
// only an address whose password is unclear has advice about it.
func TestAddress(t *testing.T) {
	const unclear = "malformed: it is unclear where the password is"
	for address, want := range map[string]struct{ redacted, err string }{
		"postgres://":                                                     {"postgres://", ""}, // the environment has the rest
		"postgres:///notes":                                               {"postgres:///notes", ""},
		"postgres://?pool_max_conns=8":                                    {"postgres://", ""},
		"postgres://localhost/notes":                                      {"postgres://localhost/notes", ""},
		"postgresql://ann@db1:5432,db2/notes":                             {"postgresql://ann@db1:5432,db2/notes", ""},
		"postgres://ann:hunter2@db1,db2:1/notes?sslmode=disable":          {"postgres://ann:xxxxx@db1,db2:1/notes", ""},
		"postgres://ann:hunter2%3A%40@db/notes":                           {"postgres://ann:xxxxx@db/notes", ""},
		"postgres://ann:hunter2@[::1]:5432/notes":                         {"postgres://ann:xxxxx@[::1]:5432/notes", ""},
		"postgres://ann:hunter2@%2Frun%2Fpostgresql/notes":                {"postgres://ann:xxxxx@%2Frun%2Fpostgresql/notes", ""},
		"postgres://ann%40server:hunter2@db/notes":                        {hidden, ""},
		"postgres://ann%40hunter2@db/notes":                               {hidden, ""},
		"postgres://ann;hunter2@db/notes":                                 {hidden, ""},
		"postgres://db/notes?password=hunter2":                            {"postgres://db/notes", ""},
		"postgres://db/notes%3Fpassword=hunter2":                          {hidden, ""},
		"postgres://127.0.0.1/notes?pool_max_conns=x&password=hunter2":    {"postgres://127.0.0.1/notes", "pool_max_conns"},
		"postgres://ann:hunter2@127.0.0.1/notes?a=b&pool_max_conns=0":     {"postgres://ann:xxxxx@127.0.0.1/notes", "pool_max_conns too small"},
		"postgres://ann:hunter2@127.0.0.1/notes?sslmode=x":                {"postgres://ann:xxxxx@127.0.0.1/notes", "sslmode"},
		"postgres://ann:hunter2@127.0.0.1/notes?sslrootcert=/nowhere.pem": {"postgres://ann:xxxxx@127.0.0.1/notes", "/nowhere.pem"},
		"postgres://ann:hunter2@127.0.0.1/notes?connect_timeout=x":        {"postgres://ann:xxxxx@127.0.0.1/notes", "connect_timeout"},
		"postgres://127.0.0.1/notes?user=ann;password=hunter2":            {"postgres://127.0.0.1/notes", "invalid"},
		"postgres://ann:%zzhunter2@127.0.0.1/notes":                       {"postgres://ann:xxxxx@127.0.0.1/notes", "percent"},
		"postgres://ann:hunter2":                                          {hidden, "port"},
		"postgres://ann%3Ahunter2@127.0.0.1/notes":                        {hidden, unclear},
		"postgres://ann%3ahunter2@127.0.0.1/notes":                        {hidden, unclear},
		"postgres://ann:p@hunter2@127.0.0.1/notes":                        {hidden, unclear},
		"postgres://ann:12/hunter2@127.0.0.1/notes":                       {hidden, unclear},
		"postgres://ann:12?hunter2@127.0.0.1/notes":                       {hidden, unclear},
		"postgres://ann:12#hunter2@127.0.0.1/notes":                       {hidden, unclear},
		"postgres://127.0.0.1/notes?user=ann&password=hunter2@":           {hidden, unclear},
	} {
		_, err := parse(address, "notebook")
		text := fmt.Sprint(err)
		if (err == nil) != (want.err == "") || !strings.Contains(text, want.err) || strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
			t.Errorf("%s: got error %q, want one line that says %q without the password", address, text, want.err)
		}
		if got := strings.Contains(text, "%40"); got != (want.err == unclear) {
			t.Errorf("%s: got error %q, which advises about passwords: %v", address, text, got)
		}
		if got := Redact(address); got != want.redacted {
			t.Errorf("Redact(%q): got %q, want %q", address, got, want.redacted)
		}
	}
}
