package rig

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/proof/bench/peers"
)

// Key opens the servers under measurement.
const Key = peers.Key

// Server is a process under measurement.
type Server struct {
	Name    string
	Addr    string
	StartUp time.Duration // from the start of the process to its first response
	cmd     *exec.Cmd
}

// Petstore says how to start the service.
type Petstore struct {
	Name, Program, Store string
	Dir                  string   // takes the log, NAME.log
	Flags                []string // beside --addr and --store
	Wrapper              []string // a command that runs the program, with its flags; nil: none
	TLS                  bool     // with a certificate of its own, that no client trusts
	Log                  *os.File // nil: the file in Dir
}

// Start starts the service, otherwise in its default configuration.
func (p Petstore) Start() (*Server, error) {
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	log := p.Log
	if log == nil {
		if log, err = os.Create(filepath.Join(p.Dir, p.Name+".log")); err != nil {
			return nil, err
		}
		defer log.Close()
	}
	command := slices.Concat(p.Wrapper, []string{p.Program, "serve", "--addr", addr, "--store", p.Store}, p.Flags)
	scheme := "http"
	if p.TLS {
		certFile, keyFile, err := writePair(p.Dir)
		if err != nil {
			return nil, err
		}
		scheme, command = "https", append(command, "--tls-cert", certFile, "--tls-key", keyFile)
	}
	client := Client()
	s := &Server{Name: p.Name, Addr: addr, cmd: onServerCPU(command[0], command[1:]...)}
	s.cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+Key)
	s.cmd.Stderr = log
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for time.Since(start) < 30*time.Second {
		if r, err := client.Get(scheme + "://" + addr + "/readyz"); err == nil {
			s.StartUp = time.Since(start)
			return s, r.Body.Close()
		}
		time.Sleep(time.Millisecond)
	}
	s.Stop()
	return nil, fmt.Errorf("%s does not respond; see %s", p.Program, log.Name())
}

// Client returns a client that takes any certificate, and speaks HTTP/2 over TLS.
func Client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
}

// StartPeer starts this very program again, with args, its log in a file in dir,
// and reads the address it serves from its first line.
func StartPeer(name, dir string, args ...string) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := onServerCPU(self, args...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return &Server{Name: name, Addr: strings.TrimSpace(line), cmd: cmd}, err
}

// Create posts a pet.
func (s *Server) Create(body string) error { return s.succeed(Post(body)) }

// succeed sends a request, and fails unless the response is the success of its method.
func (s *Server) succeed(request []byte) error {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return err
	}
	want := "200"
	if bytes.HasPrefix(request, []byte("POST ")) {
		want = "201"
	}
	r, err := readResponse(bufio.NewReader(conn))
	if err == nil && r.status != want {
		err = fmt.Errorf("the response was %s, not %s", r.status, want)
	}
	return err
}

// Fill creates the pets that the peers have.
func (s *Server) Fill() error {
	for i := range peers.Pets {
		if err := s.Create(fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":%q}`, peers.Name(i), i%5, peers.Status(i))); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the server, without a drain, and waits for its end.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	// The children of a shell's background jobs are born with the signal ignored.
	kill := time.AfterFunc(stopTime, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait()
}

// stopTime is how long a server has to end when it is told to.
const stopTime = 5 * time.Second

// PeakMemory returns the most memory the server has had resident, in bytes, 0
// where there is no /proc to read it from.
func (s *Server) PeakMemory() int64 { return s.memory("VmHWM:") }

// Memory returns the memory the server has resident now, likewise.
func (s *Server) Memory() int64 { return s.memory("VmRSS:") }

func (s *Server) memory(field string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), field)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}

// ProcessorTime returns the processor time the server has used, 0 where it
// cannot be known. Unlike requests a second, it hardly depends on the other
// programs of the machine.
func (s *Server) ProcessorTime() time.Duration {
	t, err := processorTime(s.cmd.Process.Pid)
	if err != nil {
		return 0
	}
	return t
}

// PID returns the process of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// onServerCPU runs a command on processor 0 alone, where taskset is at hand.
func onServerCPU(name string, args ...string) *exec.Cmd {
	if taskset, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > 1 {
		return exec.Command(taskset, append([]string{"-c", "0", name}, args...)...)
	}
	return exec.Command(name, args...)
}

// FreeAddr returns an address of this machine at which no program listens.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
