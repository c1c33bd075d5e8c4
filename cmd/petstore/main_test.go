package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
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
//	capture NAME FILE REGEXP       set $NAME to the group of REGEXP in a file, or in stdout
//	serve ARGS...                  start a server on $STORE, or with --sandbox; set $URL and $ADDR
//	shutdown                       stop it with SIGTERM; its output is in serve.out and serve.err
//	! shutdown                     wait until it fails by itself
//	http STATUS METHOD PATH [BODY] send a request with $KEY, if set; the response goes to stdout
func TestScripts(t *testing.T) {
	runScripts(t, "sqlite", func(name string) string { return "sqlite:" + name + ".db" })
}

// runScripts runs the scripts on a kind of store. address returns the address of a
// new one.
func runScripts(t *testing.T, kind string, address func(name string) string) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("STORE", address("pets"))
			env.Setenv("EMPTY", address("empty"))
			env.Setenv("PETSTORE_STORE", env.Getenv("STORE"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if !slices.Contains([]string{"sqlite", "postgres"}, name) {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return name == kind, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "capture": capture, "serve": startServer, "shutdown": shutdown, "http": request,
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
	match := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(match) < 2 {
		ts.Fatalf("%s: got no match of %s", args[1], args[2])
	}
	ts.Setenv(args[0], match[1])
}

// servers are the running servers of the scripts.
var servers sync.Map

type serverProcess struct {
	*exec.Cmd
	exited chan struct{}
}

// giveUp limits all waiting; it is reached only if something hangs.
const giveUp = 2 * time.Minute

var servingLine = regexp.MustCompile(`"msg":"serving","address":"(https?://[^"/]+)/v1"`)

func startServer(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs("serve.out"))
	ts.Check(err)
	defer out.Close()
	log, err := os.Create(ts.MkAbs("serve.err"))
	ts.Check(err)
	defer log.Close()
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	s := serverProcess{exec.CommandContext(ctx, "petstore", append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "0s"}, args...)...), make(chan struct{})}
	s.Dir, s.Stdout, s.Stderr = ts.MkAbs("."), out, log
	s.Env = append(os.Environ(), "PETSTORE_API_KEYS="+ts.Getenv("PETSTORE_API_KEYS"))
	if !slices.Contains(args, "--sandbox") {
		s.Env = append(s.Env, "PETSTORE_STORE="+ts.Getenv("STORE"))
	}
	ts.Check(s.Start())
	go func() {
		_ = s.Wait() // shutdown checks the exit status
		close(s.exited)
	}()
	servers.Store(ts, s)
	ts.Defer(func() { cancel(); <-s.exited })
	for {
		text := ts.ReadFile("serve.err")
		if match := servingLine.FindStringSubmatch(text); match != nil {
			ts.Setenv("URL", match[1])
			ts.Setenv("ADDR", strings.TrimPrefix(match[1], "http://"))
			return
		}
		select {
		case <-s.exited:
			ts.Fatalf("the server exited: %s", text)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func shutdown(ts *testscript.TestScript, fails bool, _ []string) {
	http.DefaultClient.CloseIdleConnections()
	value, _ := servers.Load(ts)
	s := value.(serverProcess)
	if !fails {
		ts.Check(s.Process.Signal(syscall.SIGTERM))
	}
	<-s.exited
	if status := s.ProcessState.ExitCode(); (status != 0) != fails {
		ts.Fatalf("exit status: got %d, want failure: %v", status, fails)
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
