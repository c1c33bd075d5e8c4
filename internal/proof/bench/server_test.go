//go:build wrk && linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/petstore/internal/proof/bench/peers"
)

// server is a server process that is measured.
type server struct {
	name, addr string
	pets       int
	first      time.Duration // from the start to the first response
	process    *os.Process
}

// start starts petstore or a peer on processor 0 and waits until it responds.
func start(t testing.TB, name, store string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{name: name, addr: l.Addr().String()}
	_ = l.Close()
	command := []string{"-c", "0", os.Args[0], "peer", name, store, s.addr}
	if name == "petstore" {
		command = []string{"-c", "0", *program, "serve", "--store", store, "--addr", s.addr, "--log-format", "json"}
	}
	cmd := exec.Command("taskset", command...) // its log goes to /dev/null
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+peers.Key)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(s.stop)
	for {
		err := s.send("GET", "", http.StatusOK)
		if s.first = time.Since(began); err == nil {
			return s
		}
		if s.first > 30*time.Second {
			t.Fatalf("%s does not respond: %v", name, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *server) stop() {
	_ = s.process.Signal(os.Interrupt)
	kill := time.AfterFunc(5*time.Second, func() { _ = s.process.Kill() })
	defer kill.Stop()
	_, _ = s.process.Wait()
}

// fill creates n pets.
func (s *server) fill(t testing.TB, n int) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(16)
	for p := range peers.Pets(n) {
		g.Go(func() error {
			return s.send("POST", fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":%q}`, p.Name, p.CategoryID, p.Status), http.StatusCreated)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	s.pets = n
}

var client = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 10 * time.Second}

// send sends a request. It returns an error unless the response has the status
// want.
func (s *server) send(method, body string, want int) error {
	r, err := http.NewRequest(method, "http://"+s.addr+"/v1/pets", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + peers.Key}, "Content-Type": {"application/json"}}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("%s: %s: the response is %s", s.name, method, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// processorTime returns the time that the server has spent in user and kernel
// mode: fields 14 and 15 of /proc/PID/stat, in ticks of 10 ms.
func (s *server) processorTime(t testing.TB) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte(") "))
	fields := strings.Fields(string(text))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// load describes requests that wrk sends. Each client waits for a response
// before it sends the next request.
type load struct {
	name      string
	operation string // in load.lua
	clients   int
	status    int // of every response
}

var loads = []load{
	{"list: a random page of 20", "list", 32, http.StatusOK},
	{"filtered list: a random page of 20", "filtered", 32, http.StatusOK},
	{"get: a random pet", "get", 32, http.StatusOK},
	{"create: 32 clients", "create", 32, http.StatusCreated},
	{"create: 1 client", "create", 1, http.StatusCreated},
	{"the same list every time", "same", 32, http.StatusOK},
}

// run sends l to s. It returns the processor time per request, in µs, and the
// mean size of a response body. It returns an error unless all responses have the
// status of l.
func (l load) run(t testing.TB, s *server, duration time.Duration, seed int) (cpu, size float64, err error) {
	cmd := exec.Command("wrk", "-t1", fmt.Sprintf("-c%d", l.clients), fmt.Sprintf("-d%.0f", duration.Seconds()), "-s", "load.lua",
		"http://"+s.addr, "--", l.operation, strconv.Itoa(s.pets), peers.Key, strconv.Itoa(seed))
	before := s.processorTime(t)
	out, err := cmd.CombinedOutput()
	spent := s.processorTime(t) - before
	var did struct {
		Requests, Bytes, Errors float64
		Statuses                map[string]float64
	}
	if err == nil {
		out = bytes.TrimSpace(out)
		err = json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], &did)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	n := did.Requests
	if n == 0 || did.Errors > 0 || did.Statuses[strconv.Itoa(l.status)] != n {
		return 0, 0, fmt.Errorf("%s: %s: %.0f requests, %.0f errors, statuses %v, but all must be %d", s.name, l.name, n, did.Errors, did.Statuses, l.status)
	}
	return float64(spent.Microseconds()) / n, did.Bytes / n, nil
}
