package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/internal/proof/contract/contracttest"
	"example.com/petstore/internal/proof/petstoretest"
)

// storeKind is a kind of store. One that is durable keeps keys and pets between
// two programs.
type storeKind struct {
	name    string
	durable bool
	address func(t testing.TB, dir string) string
}

// stores are the stores every conversation is held on.
var stores = append([]storeKind{
	{name: "memory", address: func(testing.TB, string) string { return "memory:" }},
	{name: "sqlite", durable: true, address: func(_ testing.TB, dir string) string { return "sqlite:" + dir + "/pets.db" }},
}, storesOnServers...)

// runAgain has the test binary be the program itself, for the tests that kill
// it. Its command line is the test's.
const runAgain = "PETSTORE_TEST_BE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(runAgain) != "" {
		if err := mountDisk(); err != nil {
			panic(err)
		}
		main()
	}
	flag.Parse()
	os.Exit(runTests(m))
}

// TestConversations holds the conversations of testdata on every store. Each
// response passes the contract's judge, which in the end must have seen every
// status of every operation.
func TestConversations(t *testing.T) {
	judge := contracttest.NewJudge(t)
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir:                "testdata",
				RequireUniqueNames: true,
				Setup: func(env *testscript.Env) error {
					env.Setenv("STORE", store.address(t, env.WorkDir))
					env.Setenv("KEY", "a-key-for-conversations")
					env.Setenv("PETSTORE_API_KEYS", "a-key-for-conversations")
					for name, size := range map[string]int{"exactly.json": 65536, "over.json": 65537} {
						if err := os.WriteFile(filepath.Join(env.WorkDir, name), []byte(petOf(size)), 0o600); err != nil {
							return err
						}
					}
					c := &conversation{judge: judge, env: env}
					env.Values[conversationKey{}] = c
					env.Defer(c.end)
					return nil
				},
				Condition: func(name string) (bool, error) {
					if name != "durable" {
						return false, fmt.Errorf("unknown condition %q", name)
					}
					return store.durable, nil
				},
				Cmds: commands(),
			})
		})
	}
	t.Run("a store that fails", func(t *testing.T) { visitFailures(t, judge) })
	if selected := flag.Lookup("test.run").Value.String(); strings.Contains(selected, "/") {
		t.Logf("only %s was run, so not every status can have been visited", selected)
		return
	}
	if missing := judge.Unvisited(); len(missing) > 0 {
		t.Errorf("documented and never sent: got %q, want none; send each in a conversation of cmd/petstore/testdata, 500 and 503 by visitFailures", missing)
	}
}

// visitFailures brings the responses that no sound store brings: 500 and 503.
func visitFailures(t *testing.T, judge *contracttest.Judge) {
	for _, failure := range failures {
		t.Run(failure.name, func(t *testing.T) {
			server := httptest.NewServer(petstoretest.Must(t, faultyStore{fail: failure.fail}, faultyKey))
			t.Cleanup(server.Close)
			for _, c := range []struct{ method, path, body string }{
				{"GET", "/v1/pets", ""},
				{"POST", "/v1/pets", `{"name":"Frank","categoryId":1}`},
				{"GET", "/v1/pets/1", ""},
				{"HEAD", "/v1/pets/1", ""},
			} {
				r, err := http.NewRequest(c.method, server.URL+c.path, strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+faultyKey)
				if c.body != "" {
					r.Header.Set("Content-Type", "application/json")
				}
				if response, body := judge.Do(t, server.Client(), r); response.StatusCode != failure.want {
					t.Errorf("%s %s: got %d %s, want %d", c.method, c.path, response.StatusCode, body, failure.want)
				}
			}
		})
	}
}

// petOf returns a pet whose JSON has exactly size bytes.
func petOf(size int) string {
	const before, after = `{"categoryId":1,"name":"`, `"}`
	return before + strings.Repeat("x", size-len(before)-len(after)) + after
}
