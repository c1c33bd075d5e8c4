//go:build wrk && linux

package bench

import (
	"bytes"
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

// server is a process under measurement.
type server struct {
	name, addr string
	pets       int
	first      time.Duration // from its start to the first response
	process    *os.Process
}

// startFilled starts petstore or a peer, with n pets in an empty store.
func startFilled(t testing.TB, name, store string, n int) *server {
	t.Helper()
	if name != "petstore" {
		addr := freeAddr(t)
		s := start(t, name, addr, os.Args[0], "peer", name, store, addr, strconv.Itoa(n))
		s.pets = n
		return s
	}
	s := startPetstore(t, name, store)
	s.pets = n
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
	return s
}

func startPetstore(t testing.TB, name, store string) *server {
	t.Helper()
	addr := freeAddr(t)
	return start(t, name, addr, *program, "serve", "--addr", addr, "--store", store, "--log-format", "json")
}

// start starts a command on processor 0 and waits until it responds. Its log goes
// to /dev/null.
func start(t testing.TB, name, addr string, command ...string) *server {
	t.Helper()
	cmd := exec.Command("taskset", append([]string{"-c", "0"}, command...)...)
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+peers.Key)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{name: name, addr: addr, process: cmd.Process}
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

var client = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 10 * time.Second}

// send sends a request and fails unless the response has the status want.
func (s *server) send(method, body string, want int) error {
	r, err := http.NewRequest(method, "http://"+s.addr+"/v1/pets", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+peers.Key)
	r.Header.Set("Content-Type", "application/json")
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
	t.Helper()
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

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
