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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"example.com/petstore/internal/proof/program"
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
	if name == petstore {
		command = []string{"-c", "0", *binary, "serve", "--store", store, "--addr", s.addr, "--log-format", "json"}
	}
	cmd := exec.Command("taskset", command...) // its log goes to /dev/null
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+program.Key, "GOGC=250")
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(s.stop)
	for {
		err := s.send(request{method: "GET", path: "/v1/pets"}, http.StatusOK)
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
func (s *server) send(r request, want int) error {
	sent, err := http.NewRequest(r.method, "http://"+s.addr+r.path, strings.NewReader(r.body))
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
		return fmt.Errorf("%s: %s: the response is %s", s.name, r.method, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// processorTime returns the time that the server has spent in user and kernel
// mode.
func (s *server) processorTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(int32(^s.process.Pid)<<3|2, &t) // as clock_getcpuclockid(3)
	return time.Duration(t.Nano()), err
}

const connections = 32

// paced is the result of pace.
type paced struct {
	cpu  float64 // processor time per request, in µs
	size float64 // mean size of a response body
	rate float64 // requests per second
}

// pace sends requests of an operation at a rate per second, or as many as the
// server can serve.
func (s *server) pace(o operation, rate int, duration time.Duration, seed int) (p paced, err error) {
	defer client.CloseIdleConnections()
	requests := o.requests(int(float64(rate)*duration.Seconds()), s.pets, seed)
	var sent atomic.Int64
	attacker := vegeta.NewAttacker(vegeta.Client(client), vegeta.Workers(connections), vegeta.MaxWorkers(connections))
	targeter := func(t *vegeta.Target) error { // called concurrently
		r := requests[int(sent.Add(1)-1)%len(requests)]
		t.Method, t.URL, t.Body, t.Header = r.method, "http://"+s.addr+r.path, []byte(r.body), header
		return nil
	}
	began := time.Now()
	before, err := s.processorTime()
	if err != nil {
		return p, err
	}
	n := 0.0
	for result := range attacker.Attack(targeter, vegeta.ConstantPacer{Freq: rate, Per: time.Second}, duration, "") {
		if int(result.Code) != o.status {
			err = fmt.Errorf("%s: %s: got status %d %s, want %d", s.name, o.name, result.Code, result.Error, o.status)
		}
		n++
		p.size += float64(result.BytesIn)
	}
	after, _ := s.processorTime()
	p.cpu, p.rate = float64((after-before).Nanoseconds())/1e3/n, n/time.Since(began).Seconds()
	p.size /= n
	return p, err
}

// saturate has wrk send requests of an operation as fast as the server responds.
// It returns how many per second.
func (s *server) saturate(o operation, duration time.Duration, seed int) (float64, error) {
	file, err := os.CreateTemp("", "requests")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	for _, r := range o.requests(20_000, s.pets, seed) {
		fmt.Fprintln(file, r.method, r.path, r.body)
	}
	if err := file.Close(); err != nil {
		return 0, err
	}
	args := []string{"-t1", fmt.Sprintf("-c%d", connections), fmt.Sprintf("-d%.0f", duration.Seconds()), "-s", "load.lua"}
	for name, values := range header {
		args = append(args, "-H", name+": "+values[0])
	}
	out, err := exec.Command("wrk", append(args, "http://"+s.addr, "--", file.Name())...).CombinedOutput()
	var did struct{ Requests, Microseconds, Errors float64 }
	if err == nil {
		out = bytes.TrimSpace(out)
		err = json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], &did)
	}
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	if did.Requests == 0 || did.Errors > 0 {
		return 0, fmt.Errorf("%s: %s: %.0f requests, %.0f errors", s.name, o.name, did.Requests, did.Errors)
	}
	return did.Requests / did.Microseconds * 1e6, nil
}
