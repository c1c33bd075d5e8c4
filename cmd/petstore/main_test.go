package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/internal/service"
)

// TestMain lets the test binary run as petstore, for scripts and for tests that
// need a process.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){service.Name: main})
}

type tests struct{ *testing.M }

func (t tests) Run() int { return runTests(t.M) }

// runTests is replaced if there is a PostgreSQL server to stop.
var runTests = (*testing.M).Run

// TestScripts runs testdata/script on SQLite. In addition to testscript's own
// commands, scripts have these:
//
//	exits STATUS COMMAND...        run a command that must exit with STATUS
//	capture NAME REGEXP            set $NAME to the group of REGEXP in the last standard output
//	serve ARGS...                  start a server on $STORE, or with --sandbox; set $URL and $ADDR
//	shutdown                       stop it with SIGTERM; its output is in serve.out and serve.err
//	http STATUS METHOD PATH [BODY] send a request with $KEY, if set; the response goes to stdout
func TestScripts(t *testing.T) {
	runScripts(t, "sqlite", func() string { return "sqlite:pets.db" })
}

// runScripts runs the scripts on a kind of store. address returns the address of a
// new one.
func runScripts(t *testing.T, kind string, address func() string) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("STORE", address())
			env.Setenv("PETSTORE_STORE", env.Getenv("STORE"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "sqlite" && name != "postgres" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return name == kind, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "capture": capture, "serve": startServer, "shutdown": stopServer, "http": request,
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	status := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		status = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(status); got != args[0] {
		ts.Fatalf("exit status: got %s, want %s", got, args[0])
	}
}

func capture(ts *testscript.TestScript, _ bool, args []string) {
	match := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(match) < 2 {
		ts.Fatalf("standard output: got no match of %s", args[1])
	}
	ts.Setenv(args[0], match[1])
}

// servers are the running servers of the scripts.
var servers sync.Map

func startServer(ts *testscript.TestScript, _ bool, args []string) {
	args = append([]string{"--addr", "127.0.0.1:0", "--drain", "0s"}, args...)
	s := &server{dir: ts.MkAbs("."), env: []string{"PETSTORE_API_KEYS=" + ts.Getenv("PETSTORE_API_KEYS")}}
	if !strings.Contains(strings.Join(args, " "), "--sandbox") {
		s.env = append(s.env, "PETSTORE_STORE="+ts.Getenv("STORE"))
	}
	ts.Check(s.start(args...))
	servers.Store(ts, s)
	ts.Defer(s.kill)
	ts.Setenv("URL", s.url)
	ts.Setenv("ADDR", strings.TrimPrefix(s.url, "http://"))
}

func stopServer(ts *testscript.TestScript, _ bool, _ []string) {
	s, _ := servers.Load(ts)
	status, err := s.(*server).stop(syscall.SIGTERM)
	ts.Check(err)
	if status != 0 {
		ts.Fatalf("exit status: got %d, want 0", status)
	}
}

func request(ts *testscript.TestScript, _ bool, args []string) {
	body := strings.Join(args[3:], " ")
	r, err := http.NewRequest(args[1], ts.Getenv("URL")+args[2], strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://localhost:3000")
	if key := ts.Getenv("KEY"); key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	_ = response.Header.Write(ts.Stdout())
	_, err = io.Copy(ts.Stdout(), response.Body)
	ts.Check(err)
	if got := strconv.Itoa(response.StatusCode); got != args[0] {
		ts.Fatalf("status: got %s, want %s", got, args[0])
	}
}

// server is a petstore serve process. Its output is in the files serve.out and
// serve.err.
type server struct {
	dir    string
	env    []string
	url    string // such as http://127.0.0.1:8080
	cmd    *exec.Cmd
	exited chan struct{}
}

// giveUp limits all waiting; it is reached only if something hangs.
const giveUp = time.Minute

var servingLine = regexp.MustCompile(`"msg":"serving","address":"(https?://[^"/]+)/v1"`)

// start starts the server and waits until it serves.
func (s *server) start(args ...string) error {
	path, err := exec.LookPath("petstore") // the one that testscript.Main set up
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(s.dir, "serve.out"))
	if err != nil {
		return err
	}
	defer out.Close()
	log, err := os.Create(filepath.Join(s.dir, "serve.err"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(path, append([]string{"serve"}, args...)...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.dir, append(os.Environ(), s.env...), out, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	match, err := s.waitFor(servingLine)
	if err == nil {
		s.url = match[1]
	}
	return err
}

// waitFor waits until the log matches pattern.
func (s *server) waitFor(pattern *regexp.Regexp) ([]string, error) {
	for deadline := time.Now().Add(giveUp); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(s.dir, "serve.err"))
		if err != nil {
			return nil, err
		}
		if match := pattern.FindStringSubmatch(string(text)); match != nil {
			return match, nil
		}
		select {
		case <-s.exited:
			return nil, fmt.Errorf("the server exited: %s", text)
		default:
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("log: got %s, want a match of %s", text, pattern)
		}
	}
}

// stop sends a signal and returns the exit status.
func (s *server) stop(signal os.Signal) (int, error) {
	http.DefaultClient.CloseIdleConnections()
	if err := s.cmd.Process.Signal(signal); err != nil {
		return 0, err
	}
	select {
	case <-s.exited:
		return s.cmd.ProcessState.ExitCode(), nil
	case <-time.After(giveUp):
		return 0, errors.New("the server did not exit")
	}
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have exited
	<-s.exited
}
