package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/petstore/internal/bench/peers"
)

// apiKey opens the service under measurement. It opens nothing else.
const apiKey = "loopback-measuring-key"

// server is a process under measurement.
type server struct {
	name string
	addr string
	cmd  *exec.Cmd
}

// servePeer serves a peer until it is killed, and prints its address.
func servePeer(name string) error {
	for _, p := range peers.All() {
		if p.Name != name {
			continue
		}
		h, err := p.New()
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return (&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}).Serve(l)
	}
	return fmt.Errorf("there is no peer %q", name)
}

func startPeer(name string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := onServerCPU(self, "peer", name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return &server{name: name, addr: strings.TrimSpace(line), cmd: cmd}, err
}

// startPetstore starts the service in its default configuration, its log in a
// file, and fills it with the pets the peers have.
func startPetstore(name, program, store, dir string) (*server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := onServerCPU(program, "serve", "--addr", addr, "--store", store)
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+apiKey)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{name: name, addr: addr, cmd: cmd}
	for range 200 {
		if r, err := http.Get("http://" + addr + "/readyz"); err == nil {
			r.Body.Close()
			return s, s.fill()
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("%s does not answer; see %s", program, log.Name())
}

func (s *server) fill() error {
	for i := range peers.Pets {
		body := fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":%q}`, peers.Name(i), i%5, peers.Status(i))
		req, err := http.NewRequest(http.MethodPost, "http://"+s.addr+"/v1/pets", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+apiKey)
		req.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		r.Body.Close()
		if r.StatusCode != http.StatusCreated {
			return errors.New("a pet was not created: " + r.Status)
		}
	}
	return nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// onServerCPU runs a command on processor 0 alone, where taskset is at hand.
func onServerCPU(name string, args ...string) *exec.Cmd {
	if taskset, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > 1 {
		return exec.Command(taskset, append([]string{"-c", "0", name}, args...)...)
	}
	return exec.Command(name, args...)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// cpu returns the processor time the server has used, 0 where there is no
// /proc to read it from. Unlike its requests a second, it does not depend on
// what else the machine does.
func (s *server) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const tick = time.Second / 100 // USER_HZ, which Linux fixes
	return time.Duration(user+system) * tick
}
