package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/proof/contract/contracttest"
)

var metricsLine = regexp.MustCompile(`"msg":"metrics","address":"(http://[^"]+)"`)

// startObserved starts the program with an admin server, and returns its address.
func startObserved(t *testing.T, args ...string) (p *process, admin string) {
	t.Helper()
	p = startProcess(t, contracttest.NewJudge(t), append([]string{"--admin-addr", ":0"}, args...)...)
	match := metricsLine.FindStringSubmatch(p.output.String())
	if match == nil {
		t.Fatalf("log: got %s, want the address of the metrics", p.output.String())
	}
	return p, strings.TrimSuffix(match[1], "/metrics")
}

// fetch returns the status and the body at an address.
func fetch(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestTheMetricsTellWhatTheServiceDoes(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			p, admin := startObserved(t, "--store", store.address(t, t.TempDir()))
			if !strings.HasPrefix(admin, "http://127.0.0.1:") {
				t.Errorf("the address of --admin-addr :0: got %s, want this machine's alone", admin)
			}
			var made pet
			for _, call := range []struct{ method, path string }{{"POST", "/v1/pets"}, {"GET", "/v1/pets/1"}, {"GET", "/v1/pets?limit=0"}} {
				var body any
				if call.method == "POST" {
					body = pet{Name: "Frank", CategoryID: 1, Status: "available"}
				}
				if _, err := p.call(call.method, call.path, body, &made); err != nil {
					t.Fatal(err)
				}
			}
			_, text := fetch(t, admin+"/metrics")
			// The server knows of the end of a response a little later than its client.
			for end := time.Now().Add(giveUp); !strings.Contains(text, `petstore_connections{state="idle"} 1`) && time.Now().Before(end); time.Sleep(time.Millisecond) {
				_, text = fetch(t, admin+"/metrics")
			}
			for _, want := range []string{
				`petstore_http_request_duration_seconds_count{operation="createPet",status="201"} 1`,
				`petstore_http_request_duration_seconds_count{operation="listPets",status="400"} 1`,
				`petstore_deprecated_calls_total{key="fixed-`,
				`petstore_store_call_duration_seconds_count{call="create"} 1`,
				`petstore_http_requests_in_flight 0`,
				`petstore_requests_shed_total{reason="store_queue"} 0`,
				`petstore_requests_shed_total{reason="key_lookup"} 0`,
				`petstore_requests_limited_total 0`,
				`petstore_store_calls_limit 256`,
				`petstore_connections{state="idle"} 1`,
				`petstore_key_cache_lookups_total{result="hit"} 0`,
				`petstore_draining 0`,
				`petstore_log_lines_missing_total 0`,
				`store="` + store.name + `"`,
				`process_cpu_seconds_total`, `go_goroutines`,
			} {
				if !strings.Contains(text, want) {
					t.Errorf("metrics: got no %s in\n%s", want, text)
				}
			}
			if got, want := strings.Contains(text, "petstore_sqlite_writes_total 1"), store.name == "sqlite"; got != want {
				t.Errorf("metrics of SQLite: got %t, want %t in\n%s", got, want, text)
			}
			if strings.Contains(text, processKey) {
				t.Error("metrics: got the API key in them, want its ID alone")
			}
			if status, _ := fetch(t, admin+"/debug/pprof/"); status != http.StatusNotFound {
				t.Errorf("profiles without --pprof: got %d, want 404", status)
			}
			if status, _ := fetch(t, p.base+"/metrics"); status != http.StatusNotFound {
				t.Errorf("metrics at the clients' address: got %d, want 404", status)
			}
		})
	}
}

func TestProfilesAreServedOnlyWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	_, admin := startObserved(t, "--store", "memory:", "--pprof")
	for path, want := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/heap": 200, "/debug/pprof/cmdline": 200, "/metrics": 200, "/": 404} {
		if got, _ := fetch(t, admin+path); got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
	if _, text := fetch(t, admin+"/debug/pprof/allocs?debug=1"); !strings.Contains(text, "@ heap/1048576\n") {
		t.Errorf("allocations: got %.60q, want one sampled every half MiB, which the text has doubled", text)
	}
}
