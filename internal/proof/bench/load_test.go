//go:build wrk && linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/proof/bench/peers"
)

// load is requests of wrk. Each client waits for a response before it sends the
// next request.
type load struct {
	name      string
	operation string // of load.lua
	clients   int
}

var loads = []load{
	{"list: a random page of 20", "list", 32},
	{"filtered list: a random page of 20", "filtered", 32},
	{"get: a random pet", "get", 32},
	{"create: 32 clients", "create", 32},
	{"create: 1 client", "create", 1},
	{"the same list again and again, as a cache likes it", "same", 32},
}

// run sends l to s. It fails unless every response has the status of success.
func (l load) run(t testing.TB, s *server, duration time.Duration, seed int) (result, error) {
	cmd := exec.Command("wrk", "-t1", fmt.Sprintf("-c%d", l.clients), fmt.Sprintf("-d%.0f", duration.Seconds()), "-s", "load.lua",
		"http://"+s.addr, "--", l.operation, strconv.Itoa(s.pets), peers.Key, strconv.Itoa(seed))
	before := s.processorTime(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return result{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	spent := s.processorTime(t) - before
	var did struct {
		Requests, Micros, Bytes, Errors float64
		P99                             float64 `json:"p99_micros"`
		Statuses                        map[string]float64
	}
	out = bytes.TrimSpace(out)
	if err := json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], &did); err != nil {
		return result{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	want := "200"
	if l.operation == "create" {
		want = "201"
	}
	if did.Errors > 0 || did.Requests == 0 || did.Statuses[want] != did.Requests {
		return result{}, fmt.Errorf("%s: %s: %.0f requests, %.0f errors, statuses %v; all must be %s", s.name, l.name, did.Requests, did.Errors, did.Statuses, want)
	}
	return result{
		Value:     float64(spent.Microseconds()) / did.Requests,
		PerSecond: did.Requests / did.Micros * 1e6,
		P99:       did.P99 / 1e3,
		bytes:     did.Bytes / did.Requests,
	}, nil
}

// TestLoads sends each load to each server for a second, to see that they work.
func TestLoads(t *testing.T) {
	built := filepath.Join(t.TempDir(), "petstore")
	if out, err := exec.Command("go", "build", "-o", built, "example.com/petstore/cmd/petstore").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	*program = built
	for _, name := range []string{"petstore", "dressed", "equipped", "constant"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startFilled(t, name, "sqlite:"+filepath.Join(t.TempDir(), "pets.db"), 1000)
			for _, l := range loads[:4] {
				if did, err := l.run(t, s, time.Second, 0); err != nil || did.Value == 0 || did.bytes == 0 {
					t.Errorf("%s: got %+v and error %v", l.name, did, err)
				}
			}
		})
	}
}

// TestWrongStatus expects an error where creates are answered by 200.
func TestWrongStatus(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer h.Close()
	self, _ := os.FindProcess(os.Getpid())
	s := &server{name: "wrong", addr: h.Listener.Addr().String(), pets: 1000, process: self}
	if _, err := (load{"create", "create", 1}).run(t, s, time.Second, 0); err == nil {
		t.Error("200 to a create: got no error")
	}
}
