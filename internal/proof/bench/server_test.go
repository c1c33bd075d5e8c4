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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/petstore/internal/proof/program"
)

// server is a server process that is measured.
type server struct {
	name, addr string
	pets       int
}

// start starts petstore or a peer on processor 0 and waits until it responds.
func start(t *testing.B, name, store string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{name: name, addr: l.Addr().String()}
	_ = l.Close()
	command := []string{"-c", "0", os.Args[0], "peer", name, store, s.addr}
	if name == "petstore" {
		command = []string{"-c", "0", "../../../.bin/petstore", "serve", "--store", store, "--addr", s.addr, "--log-format", "json"}
	}
	cmd := exec.CommandContext(t.Context(), "taskset", command...) // its log goes to /dev/null
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+program.Key)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context has killed it
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := s.send([]string{"GET", "/v1/pets", ""}, http.StatusOK)
		if err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not respond: %v", name, err)
		}
	}
}

// fill creates n pets.
func (s *server) fill(t *testing.B, n int) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(connections)
	for _, r := range create.requests(n, 0, 0) {
		g.Go(func() error { return s.send(r, create.status) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	s.pets = n
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}, Timeout: 10 * time.Second}

var header = http.Header{"Authorization": {"Bearer " + program.Key}, "Content-Type": {"application/json"}}

// send sends a request. It returns an error unless the response has the status
// want.
func (s *server) send(r []string, want int) error {
	sent, err := http.NewRequest(r[0], "http://"+s.addr+r[1], strings.NewReader(r[2]))
	if err != nil {
		return err
	}
	sent.Header = header
	response, err := client.Do(sent)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("%s: %s: the response is %s", s.name, r[0], response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

const connections = 32

// saturate has wrk send requests of an operation for a second, as fast as the server
// responds. It returns how many it served per second.
func (s *server) saturate(b *testing.B, o operation, seed int) float64 {
	var lines strings.Builder
	for _, r := range o.requests(20_000, s.pets, seed) {
		fmt.Fprintln(&lines, strings.Join(r, " "))
	}
	file := filepath.Join(b.TempDir(), "requests")
	if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	args := []string{"-t1", fmt.Sprintf("-c%d", connections), "-d1", "-s", "load.lua"}
	for name, values := range header {
		args = append(args, "-H", name+": "+values[0])
	}
	out, err := exec.Command("wrk", append(args, "http://"+s.addr, "--", file)...).CombinedOutput()
	var did struct{ Requests, Microseconds, Errors float64 }
	if err == nil {
		out = bytes.TrimSpace(out)
		err = json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], &did)
	}
	if err != nil || did.Requests == 0 || did.Errors > 0 {
		b.Fatalf("%s: %s: error %v: %s", s.name, o.name, err, out)
	}
	return did.Requests / did.Microseconds * 1e6
}
